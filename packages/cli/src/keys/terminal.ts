import { openSync, writeSync } from "node:fs";
import { ReadStream } from "node:tty";
import { Interruption, usage } from "../errors/failures.ts";

/** A person to ask. */
export interface Terminal {
  /** Asks for a line that is shown and can be edited while it is typed. */
  ask(prompt: string): Promise<string>;
  /** Asks for a line that is not shown while it is typed. */
  askSecret(prompt: string): Promise<string>;
}

/** A read of a terminal cannot be taken back: a second stream would lose what is typed to the first. */
let opened: Terminal | undefined;

/**
 * Opens the terminal the process belongs to, even where standard input and output are redirected.
 * It is the same one every time.
 *
 * @returns undefined where there is none
 */
export function openTerminal(signal: AbortSignal): Terminal | undefined {
  opened ??= createTerminal(signal);
  return opened;
}

function createTerminal(signal: AbortSignal): Terminal | undefined {
  let file: number;
  let prompts: number;
  try {
    file = prompts = openSync("/dev/tty", "r+");
  } catch {
    if (!process.stdin.isTTY) return undefined;
    file = 0;
    prompts = 2;
  }
  const input = new ReadStream(file);
  const leave = () => {
    input.setRawMode(false);
  };
  process.on("exit", leave);
  // Typed ahead: lines can come faster than they are asked for.
  const ahead: number[] = [];

  return {
    async ask(prompt) {
      // Not in raw mode: the system edits the line, and hands it over when it is complete.
      writeSync(prompts, prompt);
      return await readLine(input, ahead, signal, "answer");
    },
    async askSecret(prompt) {
      input.setRawMode(true);
      writeSync(prompts, prompt);
      try {
        return await readLine(input, ahead, signal, "passphrase");
      } finally {
        input.setRawMode(false);
        writeSync(prompts, "\n");
      }
    },
  };
}

const KEYS = { ctrlC: 3, ctrlD: 4, backspace: 8, newline: 10, enter: 13, ctrlU: 21, del: 127 };

/** In raw mode the terminal edits nothing, so the keys people use for it are handled here. */
function readLine(
  input: ReadStream,
  ahead: number[],
  signal: AbortSignal,
  what: string,
): Promise<string> {
  const line: number[] = [];

  /** @returns the line once it is complete */
  const press = (key: number): string | undefined => {
    switch (key) {
      case KEYS.enter:
      case KEYS.newline:
        return Buffer.from(line).toString("utf8");
      case KEYS.ctrlC:
        throw new Interruption(130);
      case KEYS.ctrlD:
        if (line.length === 0) throw usage(`no ${what} given`);
        return undefined;
      case KEYS.backspace:
      case KEYS.del:
        // Continuation bytes of UTF-8 belong to the character in front of them.
        while (line.length > 0 && (line.pop()! & 0xc0) === 0x80);
        return undefined;
      case KEYS.ctrlU:
        line.length = 0;
        return undefined;
      default:
        if (key >= 0x20) line.push(key);
        return undefined;
    }
  };

  return new Promise<string>((resolve, reject) => {
    const settle = () => {
      input.pause();
      input.off("data", onData).off("end", onEnd).off("error", onEnd);
      signal.removeEventListener("abort", onAbort);
    };
    const fail = (error: unknown) => {
      settle();
      reject(error);
    };
    const work = () => {
      try {
        while (ahead.length > 0) {
          const complete = press(ahead.shift()!);
          if (complete === undefined) continue;
          settle();
          resolve(complete);
          return;
        }
      } catch (error) {
        fail(error);
      }
    };
    const onData = (data: Uint8Array) => {
      ahead.push(...data);
      work();
    };
    const onEnd = () =>
      fail(
        usage(`the terminal was closed before ${what === "answer" ? "an" : "a"} ${what} was given`),
      );
    const onAbort = () => fail(signal.reason);
    input.on("data", onData).on("end", onEnd).on("error", onEnd);
    signal.addEventListener("abort", onAbort);
    if (signal.aborted) return onAbort();
    input.resume();
    work();
  });
}
