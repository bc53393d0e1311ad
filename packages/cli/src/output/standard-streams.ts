import { fstatSync, statSync, write as writeSome } from "node:fs";
import { openSystemCalls } from "../system-calls.ts";

/** Standard output or standard error. */
export interface StandardStream {
  readonly terminal: boolean;
  /**
   * Resolves when the reader has taken all of it, so that memory stays bounded.
   *
   * @throws system errors, such as `EPIPE` if the reader is gone
   */
  write(data: string | Uint8Array): Promise<void>;
}

export const standardOutput = (): StandardStream => standardStream("stdout", 1);
export const standardError = (): StandardStream => standardStream("stderr", 2);

/**
 * Writes to files and pipes without Node's streams, which take longer to load than the rest of a
 * short command. A terminal needs them: the progress bar uses them, and all writes to a terminal
 * must go through the same stream to stay in order.
 */
function standardStream(name: "stdout" | "stderr", descriptor: number): StandardStream {
  if (!mayBeTerminal(descriptor) || !process[name].isTTY) {
    return { terminal: false, write: sequential(writerTo(descriptor)) };
  }
  const stream = process[name];
  // Each write reports its own error; without a listener, the error would also end the process.
  stream.on("error", () => {});
  return {
    terminal: true,
    write: (data) =>
      new Promise((resolve, reject) => {
        stream.write(data, (error) => (error ? reject(error) : resolve()));
      }),
  };
}

type Write = StandardStream["write"];

/** One write after another, in order: lines printed concurrently must stay whole. */
function sequential(write: Write): Write {
  let last: Promise<unknown> = Promise.resolve();
  return (data) => {
    const written = last.then(() => write(data));
    last = written.catch(() => {});
    return written;
  };
}

/** Every terminal is a character device; of few other things, `/dev/null` is one. */
function mayBeTerminal(descriptor: number): boolean {
  try {
    const status = fstatSync(descriptor);
    if (!status.isCharacterDevice()) return false;
    return status.rdev !== statSync("/dev/null", { throwIfNoEntry: false })?.rdev;
  } catch {
    // It is closed; a write will report that.
    return false;
  }
}

/** After this many bytes of output, the capacity of a pipe is raised from its usual 64 KiB. */
const LONG = 16 * 2 ** 20;
/** The most that Linux allows a user by default. */
const PIPE_BYTES = 2 ** 20;

function writerTo(descriptor: number): Write {
  let written = 0;
  return async (data) => {
    const before = written;
    written += data.length;
    if (before < LONG && written >= LONG) {
      (await openSystemCalls())?.widenPipe(descriptor, PIPE_BYTES);
    }
    await writeAll(descriptor, data);
  };
}

/** Milliseconds to wait before writing to a full pipe again. */
const FULL_MS = 5;

async function writeAll(descriptor: number, data: string | Uint8Array): Promise<void> {
  let rest = typeof data === "string" ? new TextEncoder().encode(data) : data;
  while (rest.length > 0) {
    const written = await writeOnce(descriptor, rest);
    // Another process has made the pipe non-blocking.
    if (written === "full") await new Promise((resolve) => setTimeout(resolve, FULL_MS));
    else rest = rest.subarray(written);
  }
}

function writeOnce(descriptor: number, data: Uint8Array): Promise<number | "full"> {
  return new Promise((resolve, reject) => {
    writeSome(descriptor, data, (error, written) => {
      if (!error) resolve(written);
      else if (error.code === "EAGAIN") resolve("full");
      else reject(error);
    });
  });
}
