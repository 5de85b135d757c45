// A chat client for trying the gateway. It inserts the texts of other users as text nodes, never as
// HTML, so that they cannot run scripts.

import {Stream} from "./stream.js";

const $ = (id) => document.getElementById(id);
const PICTURES = ["image/png", "image/jpeg", "image/gif", "image/webp"];
const PAGE = 50;

let token, user, stream;
let shown = null;          // the id of the chat that is open
// id → {id, members, messages: seq → message, gaps, unread, position, owed, whole}
// owed: the position of an acknowledgement that the gateway has not confirmed
// whole: whether all earlier messages that the gateway stores are loaded
const chats = new Map();
const outbox = [];         // unconfirmed messages: {key, chat, type, body | bytes: {type, base64}}
const OUTBOX = "outbox";

// Take the token from the fragment of the link, which browsers do not send, and remove it from the
// address bar.
function login() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given) {
    history.replaceState(null, "", location.pathname);
    if (!may_replace(given)) return stream || begin();
    if (stream) logout();
    sessionStorage.setItem("token", given);
  }
  begin();
}

// Ask before a link replaces the session of another user.
function may_replace(given) {
  const present = sessionStorage.getItem("token");
  if (!present) return true;
  if (given === present) return false;
  const [now, then] = [present, given].map((each) => name_in(each) ?? "another user");
  return confirm(`You are logged in as ${now}. Log in as ${then} with the token of this link instead?`);
}

// Return the user name in a token without checking the signature: only the gateway can do that.
function name_in(token) {
  try {
    const text = atob(token.split(".")[1].replaceAll("-", "+").replaceAll("_", "/"));
    const name = JSON.parse(new TextDecoder().decode(Uint8Array.from(text, (c) => c.charCodeAt(0))))[2];
    return JSON.stringify(name.slice(0, 100));
  } catch {
    return undefined;
  }
}

function begin() {
  token = sessionStorage.getItem("token");
  $("login").hidden = Boolean(token);
  $("app").hidden = !token;
  if (!token) return;
  stream = new Stream(token, {hear, state: show_line, refused: () => logout("The token is not good any more.")});
  stream.goOnline();
}

function logout(why = "") {
  sessionStorage.removeItem("token");
  sessionStorage.removeItem(OUTBOX);
  stream?.goOffline();
  $("app").hidden = true;
  $("login").hidden = false;
  $("refused").textContent = why;
  stream = null;
  shown = null;
  chats.clear();
  outbox.length = 0;
}

// Requests

async function ask(method, path, {type, data, key, trace} = {}) {
  if (!stream?.wanted) throw new Error("You are offline.");
  const headers = {Authorization: `Bearer ${token}`};
  if (type) headers["Content-Type"] = type;
  if (key) headers["Idempotency-Key"] = key;
  if (trace) headers.traceparent = `00-${trace}-${trace.slice(16)}-00`;
  const answer = await fetch(`v1/${path}`, {method, headers, body: data});
  const value = answer.status === 204 ? null : await answer.json();
  if (!answer.ok) throw Object.assign(new Error(value.detail), {status: answer.status});
  return value;
}

const ask_json = (method, path, value, key) =>
  ask(method, path, {type: "application/json", data: JSON.stringify(value), key});

const path_of = (chat) => `chats/${encodeURIComponent(chat.id)}`;

// Frames of the gateway

function hear(frame) {
  if (frame.type === "welcome") {
    user = frame.user;
    restore_outbox();
    $("user").textContent = $("user").title = user;
    $("me").textContent = initial(user);
    document.title = `${user} – Holdfast chat`;
    refresh();
    send_outbox();
    for (const chat of chats.values()) say_read(chat);
  } else if (frame.type === "batch") {
    take(frame);
  } else if (frame.type === "acked") {
    const chat = chats.get(frame.id);
    if (chat?.owed === frame.position) chat.owed = null;
  } else if (frame.type === "error") {
    const chat = chats.get(frame.id);
    if (chat && frame.problem.status < 429) chat.owed = null;  // a repetition would fail as well
    notice(frame.problem.detail);
  }
}

function take({source, messages, gap, position}) {
  const chat = chat_of(source.slice("chat:".length));
  chat.position = position;
  if (gap?.reason === "reset") chat.messages.clear();
  if (gap) chat.gaps.push(gap);
  for (const message of messages) {
    if (!keep(chat, message)) continue;
    if (message.sender !== user) chat.unread += 1;
  }
  if (!chat.members.length) load_members(chat);
  draw(chat);
  acknowledge(chat);
}

// Store a received message. If this page has sent it, remove it from the outbox: the trace, which the
// gateway returns with each message, is derived from the key of the entry.
function keep(chat, message) {
  if (message.sender === user) settle((entry) => message.trace?.traceparent.split("-")[1] === trace_of(entry));
  if (chat.messages.has(message.seq)) return false;
  chat.messages.set(message.seq, message);
  return true;
}

const trace_of = (entry) => entry.key.replaceAll("-", "");

function settle(is_sent) {
  const found = outbox.findIndex(is_sent);
  if (found < 0) return;
  outbox.splice(found, 1);
  store_outbox();
}

// Add the chats without new messages, and remove the chats that are gone.
async function refresh() {
  const known = [...chats.keys()];  // a chat that is added during the request must not be removed
  const {chats: found} = await attempt(() => ask("GET", "chats")) ?? {};
  if (!found) return;
  for (const id of known) if (!found.some((each) => each.id === id)) forget(id);
  for (const {id} of found) {
    const chat = chat_of(id);
    load_members(chat);
    if (!chat.messages.size) load_history(chat, 1);
  }
  if (shown) load_history(chats.get(shown));
  draw_list();
}

async function load_members(chat) {
  if (!stream?.wanted) return;
  const answer = await attempt(() => ask("GET", `${path_of(chat)}/members`));
  if (!answer) return;
  chat.members = Object.keys(answer.members).sort();
  draw(chat);
}

async function load_history(chat, limit = PAGE, before = "") {
  if (!stream?.wanted) return;
  const query = `limit=${limit}${before && `&before=${before}`}`;
  const answer = await attempt(() => ask("GET", `${path_of(chat)}/history?${query}`));
  if (!answer) return;
  for (const message of answer.messages) {
    keep(chat, message);
  }
  if (limit === PAGE && answer.messages.length < PAGE) chat.whole = true;
  draw(chat);
}

function chat_of(id) {
  if (!chats.has(id)) {
    chats.set(id, {
      id, members: [], messages: new Map(), gaps: [], unread: 0, position: null, owed: null, whole: false,
    });
  }
  return chats.get(id);
}

function forget(id) {
  chats.delete(id);
  if (shown === id) close_chat();
  draw_list();
}

// Acknowledge all messages of a chat if it is open and visible.
function acknowledge(chat) {
  if (chat.id !== shown || document.hidden) return;
  chat.unread = 0;
  chat.owed = chat.position;
  say_read(chat);
  draw_list();
}

// Send the pending acknowledgement of a chat. This is repeated after each connection until the gateway
// confirms it, because the user may read a chat while offline.
function say_read(chat) {
  const {id, owed: position} = chat;
  if (position) stream.say({type: "ack", id, source: `chat:${id}`, position});
}

// Actions of the user

function open_chat(id) {
  shown = id;
  const chat = chats.get(id);
  $("app").classList.add("reading");
  $("chat").hidden = false;
  $("empty").hidden = true;
  $("messages").replaceChildren();
  draw(chat);
  acknowledge(chat);
  load_history(chat);
  $("text").focus();
}

function close_chat() {
  shown = null;
  $("app").classList.remove("reading");
  $("chat").hidden = true;
  $("empty").hidden = false;
  draw_list();
}

// Queue a message under an idempotency key, so that retries send it only once. The session storage
// keeps the queue over a reload of the page.
function put_in_outbox(entry) {
  outbox.push({key: new_key(), chat: shown, sender: user, sent_at: new Date().toISOString(), ...entry});
  store_outbox();
  draw(chats.get(shown));
  send_outbox();
}

// Return a random key. Do not use crypto.randomUUID: it exists only over TLS and on localhost.
function new_key() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((n) => n.toString(16).padStart(2, "0")).join("");
}

function store_outbox() {
  try {
    sessionStorage.setItem(OUTBOX, JSON.stringify(outbox.map(({element, ...entry}) => entry)));
  } catch {
    sessionStorage.removeItem(OUTBOX);  // the storage is full: a reload loses pending messages
  }
}

function restore_outbox() {
  for (const entry of JSON.parse(sessionStorage.getItem(OUTBOX) ?? "[]")) {
    if (entry.sender !== user || outbox.some(({key}) => key === entry.key)) continue;
    chat_of(entry.chat);
    outbox.push(entry);
  }
}

const octets = (base64) => Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));

const data_of = ({body, bytes}) => bytes ? octets(bytes.base64) : JSON.stringify(body);

let sending = false;
async function send_outbox() {
  if (sending) return;
  sending = true;
  try {
    while (outbox.length && stream?.wanted) {
      const entry = outbox[0], chat = chats.get(entry.chat), trace = trace_of(entry);
      try {
        const options = {...entry, data: data_of(entry), trace};
        const {seq} = await ask("POST", `chats/${encodeURIComponent(entry.chat)}/messages`, options);
        const {sender, sent_at, body, bytes} = entry;
        if (chat) keep(chat, {seq, sender, sent_at, body, bytes});
      } catch (error) {
        if (!outbox.includes(entry)) continue;  // the stream has delivered it: only the response was lost
        if (!error.status || error.status === 429 || error.status >= 500) {
          setTimeout(send_outbox, 2000);
          return;
        }
        notice(`Not sent: ${error.message}`);
      }
      settle((each) => each === entry);
      if (chat) draw(chat);
    }
  } finally {
    sending = false;
  }
}

async function begin_chat(names) {
  const others = names.split(",").map((name) => name.trim()).filter(Boolean);
  const made = await attempt(() => ask_json("POST", "chats", {
    members: [user, ...others], body: `${user} began the chat`,
  }, new_key()));
  if (!made) return;
  const chat = chat_of(made.id);
  await load_members(chat);
  open_chat(made.id);
}

async function send_picture(file) {
  if (!PICTURES.includes(file.type)) return notice("Only PNG, JPEG, GIF and WebP pictures can be sent.");
  const data = new Uint8Array(await file.arrayBuffer());
  const text = Array.from(data, (byte) => String.fromCharCode(byte)).join("");
  put_in_outbox({type: file.type, bytes: {type: file.type, base64: btoa(text)}});
}

async function attempt(work) {
  try {
    const answer = await work();
    $("notice").hidden = true;
    return answer;
  } catch (error) {
    notice(error.message);
    return undefined;
  }
}

function notice(text) {
  $("notice").textContent = text;
  $("notice").hidden = false;
}

// Display

function element(tag, className, text = "") {
  const made = document.createElement(tag);
  made.className = className;
  made.textContent = text;
  return made;
}

const initial = (name) => [...name.trim()][0]?.toUpperCase() ?? "?";

function title(chat) {
  const others = chat.members.filter((name) => name !== user);
  return others.join(", ") || (chat.members.length ? "Only you" : "…");
}

function summary(message) {
  if (!message) return "";
  if (message.bytes) return `${message.sender}: picture`;
  return `${message.sender}: ${words(message)}`;
}

function words(message) {
  if ("undecodable" in message) return `(cannot be read: ${message.undecodable})`;
  const {body} = message;
  if (typeof body === "string") return body;
  return typeof body?.text === "string" ? body.text : JSON.stringify(body);
}

const newest = (chat) => chat.messages.get(Math.max(0, ...chat.messages.keys()));

function draw(chat) {
  draw_list();
  if (chat?.id === shown) draw_messages(chat);
}

function draw_list() {
  const all = [...chats.values()].sort((a, b) =>
    (newest(b)?.sent_at ?? "").localeCompare(newest(a)?.sent_at ?? ""));
  place($("chats"), all.map(chat_row));
  $("none").hidden = all.length > 0;
}

// Update and return the row of a chat. Reuse its element, so that a press hits the row that the user
// saw.
function chat_row(chat) {
  if (!chat.row) {
    const button = element("button", ""), text = element("span", "words");
    button.type = "button";
    button.onclick = () => open_chat(chat.id);
    text.append(element("strong", ""), element("span", "last"));
    button.append(element("span", "avatar"), text, element("span", "unread"));
    chat.row = element("li", "");
    chat.row.append(button);
  }
  const part = (selector) => chat.row.querySelector(selector);
  part("button").classList.toggle("open", chat.id === shown);
  part(".avatar").textContent = initial(title(chat));
  part("strong").textContent = part("strong").title = title(chat);
  part(".last").textContent = summary(newest(chat));
  part(".unread").textContent = chat.unread;
  part(".unread").hidden = !chat.unread;
  return chat.row;
}

// Make *rows* the children of *list*, in this order. Do not move rows that are in place already.
function place(list, rows) {
  const wanted = new Set(rows);
  for (const row of [...list.children]) if (!wanted.has(row)) row.remove();
  rows.forEach((row, i) => {
    if (list.children[i] !== row) list.insertBefore(row, list.children[i] ?? null);
  });
}

function draw_messages(chat) {
  const heading = $("title").querySelector("h2");
  heading.textContent = heading.title = title(chat);
  const list = $("messages");
  const at_end = list.scrollHeight - list.scrollTop - list.clientHeight < 80;
  const rows = [], numbers = [...chat.messages.keys()].sort((a, b) => a - b);
  if (numbers[0] > 1 && !chat.whole) rows.push(earlier_element(chat, numbers[0]));
  for (const seq of numbers) {
    const message = chat.messages.get(seq);
    rows.push(message.element ??= message_element(message));
  }
  for (const gap of chat.gaps) {
    const after = rows.findIndex((row) => Number(row.dataset.seq) > gap.last);
    rows.splice(after < 0 ? rows.length : after, 0, gap.element ??= gap_element(gap));
  }
  for (const entry of outbox) {
    if (entry.chat === chat.id) rows.push(entry.element ??= message_element(entry, "pending"));
  }
  place(list, rows);
  if (at_end || outbox.length) list.scrollTop = list.scrollHeight;
}

function message_element(message, state = "") {
  const mine = message.sender === user;
  const row = element("li", `message ${mine ? "mine" : ""} ${state}`);
  row.dataset.seq = message.seq ?? "";
  if (!mine) row.append(element("div", "who", message.sender));
  row.append(message.bytes ? picture(message.bytes) : element("div", "what", words(message)));
  const at = new Date(message.sent_at).toLocaleTimeString([], {hour: "2-digit", minute: "2-digit"});
  row.append(element("div", "when", state === "pending" ? "not sent yet" : at));
  return row;
}

function earlier_element(chat, before) {
  const row = element("li", "earlier"), button = element("button", "", "Earlier messages");
  button.type = "button";
  button.onclick = () => load_history(chat, PAGE, before);
  row.append(button);
  return row;
}

function gap_element({first, last, reason}) {
  const count = last - first + 1;
  return element("li", "gap", reason === "reset"
    ? "The server lost what was shown here before."
    : `${count} ${count === 1 ? "message is" : "messages are"} missing here: not kept long enough.`);
}

function picture({type, base64}) {
  if (!PICTURES.includes(type)) return element("div", "what", "(a file)");
  const image = document.createElement("img");
  image.alt = "Picture";
  image.src = URL.createObjectURL(new Blob([octets(base64)], {type}));
  image.onload = () => {
    const list = $("messages");
    if (list.scrollHeight - list.scrollTop - list.clientHeight < 420) list.scrollTop = list.scrollHeight;
  };
  return image;
}

function show_line(state) {
  for (const word of ["online", "connecting", "offline"]) $("app").classList.toggle(word, word === state);
  $("line").textContent = state;
}

$("login").querySelector("form").onsubmit = (event) => {
  event.preventDefault();
  sessionStorage.setItem("token", $("token").value.trim());
  $("token").value = "";
  $("refused").textContent = "";
  login();
};
$("logout").onclick = () => logout();
$("line").onclick = () => (stream.wanted ? stream.goOffline() : stream.goOnline());
$("back").onclick = close_chat;
$("new").onsubmit = (event) => {
  event.preventDefault();
  begin_chat($("with").value);
  $("with").value = "";
};
$("compose").onsubmit = (event) => {
  event.preventDefault();
  const body = $("text").value;
  $("text").value = "";
  put_in_outbox({type: "application/json", body});
};
$("picture").onchange = (event) => {
  const [file] = event.target.files;
  event.target.value = "";
  if (file) send_picture(file);
};
$("leave").onclick = async () => {
  const chat = chats.get(shown);
  const done = await attempt(async () => (await ask("DELETE", `${path_of(chat)}/members/me`), true));
  if (done) forget(chat.id);
};
document.onvisibilitychange = () => shown && acknowledge(chats.get(shown));
addEventListener("hashchange", () => {
  if (location.hash.includes("token=")) login();
});
login();
