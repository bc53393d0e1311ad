import { fstatSync, write as writeSome } from "node:fs";

/** Standard output or standard error. */
export interface StandardStream {
  readonly terminal: boolean;
  /**
   * Resolves when the reader has taken all of it, so that memory stays bounded.
   *
   * @throws system errors, such as `EPIPE` where the reader went away
   */
  write(data: string | Uint8Array): Promise<void>;
}

export const standardOutput = (): StandardStream => standardStream("stdout", 1);
export const standardError = (): StandardStream => standardStream("stderr", 2);

/**
 * Node's streams take longer to load than all the rest of a short command, so files and pipes are
 * written to without them. A terminal is left to them: what draws on it uses them as well, and what
 * goes to one place must go one way.
 */
function standardStream(name: "stdout" | "stderr", descriptor: number): StandardStream {
  if (!mayBeTerminal(descriptor) || !process[name].isTTY) {
    return { terminal: false, write: inTurn((data) => writeAll(descriptor, data)) };
  }
  const stream = process[name];
  // Errors come back from each write; without a listener they would end the process as well.
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

/** One after the other, in the order asked for: lines of several files at once must stay whole. */
function inTurn(write: Write): Write {
  let last: Promise<unknown> = Promise.resolve();
  return (data) => {
    const written = last.then(() => write(data));
    last = written.catch(() => {});
    return written;
  };
}

/** Every terminal is a character device; few other things are. */
function mayBeTerminal(descriptor: number): boolean {
  try {
    return fstatSync(descriptor).isCharacterDevice();
  } catch {
    // It is closed, which a write will tell.
    return false;
  }
}

/** How long a pipe that takes nothing is left alone, in milliseconds. */
const FULL_MS = 5;

async function writeAll(descriptor: number, data: string | Uint8Array): Promise<void> {
  let rest = typeof data === "string" ? new TextEncoder().encode(data) : data;
  while (rest.length > 0) {
    const written = await writeOnce(descriptor, rest);
    // Someone else who has the pipe made writes to it return at once.
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
