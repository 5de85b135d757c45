// Keep a WebSocket to the gateway open. After a failure, reconnect and continue after the last batch.

const SILENCE_MS = 50_000;  // the gateway sends a ping every 20 s
const PAUSES_MS = [300, 1000, 2000, 5000, 10_000];

export class Stream {
  // hear(frame): called with each frame of the gateway.
  // state(word): called with "online", "connecting" or "offline" when the state changes.
  // refused(): called when the token is no longer valid.
  constructor(token, {hear, state, refused}) {
    Object.assign(this, {token, hear, state, refused, positions: {}, tries: 0, wanted: false});
    addEventListener("online", () => this.wanted && this.connect());
    addEventListener("offline", () => this.socket?.close());
  }

  goOnline() {
    this.wanted = true;
    this.tries = 0;
    this.connect();
  }

  goOffline() {
    this.wanted = false;
    clearTimeout(this.retry);
    this.socket?.close();
    this.state("offline");
  }

  connect() {
    clearTimeout(this.retry);
    if (this.socket && this.socket.readyState <= WebSocket.OPEN) return;
    this.state("connecting");
    const url = new URL("v1/stream", location.href);
    url.protocol = url.protocol.replace("http", "ws");
    const socket = this.socket = new WebSocket(url);
    socket.onopen = () => this.say({
      type: "hello", token: this.token, sources: ["chats"], resume: this.positions,
    });
    socket.onmessage = (event) => this.heard(JSON.parse(event.data));
    socket.onclose = (event) => this.closed(socket, event);
    this.listen();
  }

  heard(frame) {
    this.listen();
    if (frame.type === "welcome") {
      this.tries = 0;
      this.state("online");
    }
    this.hear(frame);
    if (frame.type === "batch") this.positions[frame.source] = frame.position;
  }

  // Close the socket after a silence, because a connection can fail without an event.
  listen() {
    clearTimeout(this.silence);
    this.silence = setTimeout(() => this.socket.close(), SILENCE_MS);
  }

  closed(socket, event) {
    if (socket !== this.socket) return;
    clearTimeout(this.silence);
    this.socket = null;
    if (event.code === 4401) {
      this.wanted = false;
      this.refused();
    } else if (this.wanted) {
      this.state("connecting");
      const pause = PAUSES_MS[Math.min(this.tries++, PAUSES_MS.length - 1)];
      this.retry = setTimeout(() => this.connect(), pause * (0.75 + Math.random() / 2));
    }
  }

  say(frame) {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(frame));
  }
}
