/** Many uploads and downloads at once, whose contents are made and compared as they pass. */
import { createHash } from "node:crypto";
import { once } from "node:events";
import { type Socket, connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { noise } from "../../harness/content.ts";
import { bareS3 } from "../../object-store/bare-s3.ts";
import { seededRandom } from "../../statistics/random.ts";
import type { ObjectStoreAccess } from "../../suite.ts";

const PIECE = 256 * 1024;
/** How long a client waits that was told to slow down, in ms. */
const RETRY_MS = 1000;
const HEAD_END = "\r\n\r\n";

export interface Streams {
  readonly access: ObjectStoreAccess;
  /** Bytes of each. */
  readonly size: number;
  readonly seed: number;
  readonly signal: AbortSignal;
  /** Is told of each time that the gateway was too busy. */
  readonly onBusy: () => void;
}

/**
 * Uploads a content that follows from its number.
 *
 * @throws Error if the gateway refuses it, or has received other bytes
 */
export async function upload(streams: Streams, index: number): Promise<void> {
  const { size } = streams;
  const name = nameOf(index);
  await inTime(streams, async () => {
    const md5 = createHash("md5");
    const { socket, status, head } = await request(streams, "PUT", name, async (send) => {
      for (const piece of pieces(streams, index)) {
        md5.update(piece);
        // It is used again once it was sent.
        if (!(await send(piece))) return;
      }
    });
    socket.destroy();
    if (status !== 200) return status;
    const [, etag] = /^etag: "([\da-f]{32})"\r?$/imu.exec(head) ?? [];
    if (etag !== md5.digest("hex")) throw new Error(`${size} wrong bytes were stored`);
    return status;
  });
}

/** @throws Error if the gateway refuses it, or other bytes come back */
export async function download(streams: Streams, index: number): Promise<void> {
  const expected = createHash("sha256");
  for (const piece of pieces(streams, index)) expected.update(piece);
  const hash = expected.digest("hex");
  await inTime(streams, async () => {
    const { socket, status, rest } = await request(streams, "GET", nameOf(index));
    const found = createHash("sha256").update(rest);
    if (status === 200) {
      for await (const piece of socket) found.update(piece as Uint8Array);
    }
    socket.destroy();
    if (status === 200 && found.digest("hex") !== hash) throw new Error("wrong bytes came back");
    return status;
  });
}

function nameOf(index: number): string {
  return `stream-${index}`;
}

/**
 * How a connection fails that the gateway closes while it is sent a body: it has refused the request, but the
 * answer is lost. As clients of S3 do, the request is tried again, and then its answer may be found.
 */
const CLOSED: ReadonlySet<unknown> = new Set(["EPIPE", "ECONNRESET"]);
const ATTEMPTS = 100;

/** Repeats a request until the gateway is not too busy. */
async function inTime({ onBusy, signal }: Streams, work: () => Promise<number>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    signal.throwIfAborted();
    const status = await work().catch((error: NodeJS.ErrnoException) => {
      if (CLOSED.has(error.code) && attempt < ATTEMPTS) return 503;
      throw error;
    });
    if (status === 200) return;
    if (status !== 503) throw new Error(`the gateway answered with ${status}`);
    onBusy();
    await sleep(RETRY_MS, undefined, { signal });
  }
}

/** Each begins with the number of its stream and its own, so that a hash tells them apart. */
function* pieces({ size, seed }: Streams, index: number): Generator<Uint8Array<ArrayBuffer>> {
  const piece = noise(PIECE, seededRandom(seed));
  const view = new DataView(piece.buffer);
  view.setUint32(0, index);
  for (let offset = 0; offset < size; offset += PIECE) {
    view.setUint32(4, offset / PIECE);
    yield piece.subarray(0, Math.min(PIECE, size - offset));
  }
}

interface Answer {
  readonly socket: Socket;
  readonly status: number;
  readonly head: string;
  /** What of the body arrived with the head. */
  readonly rest: Uint8Array;
}

/** Sends a piece of a body, unless there is an answer already, which is a refusal. Returns whether it was sent. */
type Send = (piece: Uint8Array) => Promise<boolean>;

/** One request on a connection of its own, which the gateway closes after its answer. */
async function request(
  { access, size, signal }: Streams,
  method: "GET" | "PUT",
  name: string,
  body: (send: Send) => Promise<void> = async () => {},
): Promise<Answer> {
  const { hostname, port, host } = new URL(access.endpoint);
  const { path, headers } = bareS3(access).sign(method, name);
  const socket = connect({ host: hostname, port: Number(port), signal });
  await once(socket, "connect");
  // Once there is an answer, it does not matter how the connection ends. Until then, `answerOn` rejects.
  socket.on("error", () => {});
  const lines = {
    host,
    connection: "close",
    ...headers,
    ...(method === "PUT" && { "content-length": String(size) }),
  };
  const head = Object.entries(lines).map(([key, value]) => `${key}: ${value}\r\n`);
  socket.write(`${method} ${path} HTTP/1.1\r\n${head.join("")}\r\n`);
  let isAnswered = false;
  const answered = answerOn(socket).finally(() => {
    isAnswered = true;
  });
  const send: Send = async (piece) => !isAnswered && written(socket, piece);
  const [answer] = await Promise.all([answered, body(send)]);
  return answer;
}

async function answerOn(socket: Socket): Promise<Answer> {
  let text = Buffer.alloc(0);
  for (;;) {
    const end = text.indexOf(HEAD_END);
    if (end >= 0) {
      const head = text.subarray(0, end).toString("latin1");
      const [, status] = /^HTTP\/1\.1 (\d{3}) /u.exec(head) ?? [];
      const rest = text.subarray(end + HEAD_END.length);
      return { socket, status: Number(status), head, rest };
    }
    const piece = socket.read() as Buffer | null;
    if (piece !== null) text = Buffer.concat([text, piece]);
    else if (socket.readableEnded || socket.destroyed) {
      throw new Error("the gateway closed a connection without an answer");
    } else await Promise.race([once(socket, "readable"), once(socket, "close")]);
  }
}

/** Whether a piece was sent before the connection ended. */
function written(socket: Socket, piece: Uint8Array): Promise<boolean> {
  return new Promise((resolve) => {
    if (socket.destroyed) resolve(false);
    socket.write(piece, (error) => resolve(!error));
  });
}
