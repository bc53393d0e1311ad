import { openSync, writeSync } from "node:fs";
import type { ReadStream } from "node:tty";
import { Interruption, usage } from "../errors/failures.ts";
import { printable, printableLines } from "../output/text.ts";

/** A terminal to prompt on. */
export interface Terminal {
  /** Prompts for a line, which is echoed and can be edited. The prompt may have several lines. */
  ask(prompt: string): Promise<string>;
  /** Prompts for a line without echoing it. */
  askSecret(prompt: string): Promise<string>;
}

/** A read cannot be cancelled: a second stream would lose input to the first. */
let opened: Terminal | undefined;

/**
 * Opens the controlling terminal, even if standard input and output are redirected. Returns the
 * same terminal every time.
 *
 * @returns undefined if there is none
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
  // Not imported, because it loads Node's streams and sockets, and most commands ask nothing.
  const tty = process.getBuiltinModule("node:tty");
  const input = new tty.ReadStream(file);
  const leave = () => {
    input.setRawMode(false);
  };
  process.on("exit", leave);
  // Keys typed before the next prompt.
  const ahead: number[] = [];

  return {
    async ask(prompt) {
      // Not in raw mode: the system edits the line and returns it when it is complete.
      writeSync(prompts, printableLines(prompt));
      return await readLine(input, ahead, signal, "answer");
    },
    async askSecret(prompt) {
      input.setRawMode(true);
      writeSync(prompts, printable(prompt));
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

/** In raw mode the terminal does no editing, so the editing keys are handled here. */
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
        // UTF-8 continuation bytes belong to the character before them.
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
