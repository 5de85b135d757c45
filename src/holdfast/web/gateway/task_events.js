// Follow the events of a task, and continue after a lost connection.
//
//   import {TaskEvents} from "/v1/task-events.js";
//   const events = new TaskEvents("reports", id, {token});
//   events.addEventListener("progress", ({detail}) => bar.value = detail.data.done / detail.data.total);
//   events.addEventListener("event", ({detail}) => console.log(detail.number, detail.data));
//   events.addEventListener("gap", ({detail}) => console.log("missing", detail.first, detail.last));
//   events.addEventListener("end", ({detail}) => console.log("the task is", detail.state));
//
// Each event arrives once and in order. Further events of this object:
//   state    detail is "connecting", "online" or "closed"
//   refused  detail is the HTTP status: the token is not valid, or may not read this task

const SILENCE_MS = 40_000;  // the gateway sends a heartbeat every 15 s
const PAUSES_MS = [300, 1000, 2000, 5000, 10_000];

export class TaskEvents extends EventTarget {
  // token: a bearer token, or a function that returns one or a promise of one.
  // after: number of the last event that the page has.
  // base: where the gateway is.
  constructor(queue, id, {token = null, after = 0, base = "/"} = {}) {
    super();
    const path = `v1/tasks/${encodeURIComponent(queue)}/${encodeURIComponent(id)}/events`;
    Object.assign(this, {token, last: after, tries: 0, closed: false});
    this.url = new URL(path, new URL(base, location.href));
    this.wake = () => { this.tries = 0; this.resume?.(); };
    this.cut = () => this.request?.abort();
    addEventListener("online", this.wake);
    addEventListener("offline", this.cut);
    this.run();
  }

  close() {
    if (this.closed) return;
    this.closed = true;
    removeEventListener("online", this.wake);
    removeEventListener("offline", this.cut);
    clearTimeout(this.silence);
    this.request?.abort();
    this.resume?.();
    this.tell("state", "closed");
  }

  tell(name, detail) {
    this.dispatchEvent(new CustomEvent(name, {detail}));
  }

  async run() {
    while (!this.closed) {
      this.tell("state", "connecting");
      let pause = 0;
      try {
        pause = await this.connect();
      } catch (error) {
        if (!(error instanceof TypeError || error?.name === "AbortError")) console.error(error);
      }
      clearTimeout(this.silence);
      if (this.closed) return;
      const least = PAUSES_MS[Math.min(this.tries++, PAUSES_MS.length - 1)];
      await this.rest(Math.max(pause, least * (0.75 + Math.random() / 2)));
    }
  }

  // Wait, but not longer than until the browser is online again.
  rest(ms) {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.resume = () => { clearTimeout(timer); resolve(); };
    });
  }

  // Read one response until it ends. Return the milliseconds that the gateway asks to wait.
  async connect() {
    this.request = new AbortController();
    this.listen();
    const headers = {Accept: "text/event-stream", "Last-Event-ID": String(this.last)};
    const token = typeof this.token === "function" ? await this.token() : this.token;
    if (token) headers.Authorization = `Bearer ${token}`;
    const response = await fetch(this.url, {headers, signal: this.request.signal, cache: "no-store"});
    if (response.status === 429 || response.status >= 500) {
      return 1000 * (Number(response.headers.get("Retry-After")) || 1);
    }
    if (!response.ok) {
      this.tell("refused", response.status);
      this.close();
      return 0;
    }
    this.tries = 0;
    this.tell("state", "online");
    let text = "";
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const {value, done} = await reader.read();
      if (done || this.closed) return 0;
      this.listen();
      const frames = (text + value).split("\n\n");
      text = frames.pop();
      for (const frame of frames) this.hear(frame);
    }
  }

  // Cut the connection after a silence, because a connection can fail without an event.
  listen() {
    clearTimeout(this.silence);
    this.silence = setTimeout(this.cut, SILENCE_MS);
  }

  hear(frame) {
    const fields = {};
    for (const line of frame.split("\n")) {
      const at = line.indexOf(":");
      if (at > 0) fields[line.slice(0, at)] = line.slice(at + 1).trimStart();
    }
    if (!fields.event || this.closed) return;
    const detail = JSON.parse(fields.data);
    if (fields.id !== undefined) {
      const id = Number(fields.id);
      if (id <= this.last && fields.event !== "gap") return;  // it came already
      this.last = id;
    }
    this.tell(fields.event, detail);
    if (fields.event === "end") this.close();
  }
}
