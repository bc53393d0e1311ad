import { BrokenPipe, Failure, reasonOf, systemCodeOf } from "../errors/failures.ts";
import type { Screen } from "./screen.ts";
import { standardError, standardOutput } from "./standard-streams.ts";
import { printable, redact, toJson } from "./text.ts";

/** Where results and remarks go. Results alone are on standard output. */
export interface Output {
  readonly json: boolean;
  /** Whether standard output is a terminal. */
  readonly terminal: boolean;
  /**
   * One result: a text for people, or one JSON object on a line for programs. Small results are
   * gathered; `flush` sends them.
   */
  result(human: string, json: unknown): Promise<void>;
  /** A result that says nothing new to people: printed with `--json` alone. */
  report(json: unknown): Promise<void>;
  /** A text that is no result, such as help, on standard output. */
  text(text: string): Promise<void>;
  /** Content as it is. Resolves when the reader has taken it, so that memory stays bounded. */
  bytes(bytes: Uint8Array): Promise<void>;
  flush(): Promise<void>;
  /** A remark for people, on standard error. Left out with `--quiet`. */
  note(text: string): Promise<void>;
  /** What is wrong with one of several things, on standard error; with `--quiet`, too. */
  fault(text: string): Promise<void>;
  /** One JSON object on a line of standard error, for programs that follow what goes on. */
  event(json: unknown): Promise<void>;
  /** A text for people of several lines, such as a stack, on standard error. */
  block(text: string): Promise<void>;
}

const GATHERED_MAX = 64 * 1024;

export interface OutputOptions {
  readonly json: boolean;
  readonly screen: Screen;
}

export function createOutput({ json: asJson, screen }: OutputOptions): Output {
  const [stdout, stderr] = [standardOutput(), standardError()];
  let gathered = "";

  const write = (data: string | Uint8Array): Promise<void> =>
    stdout.write(data).catch((error: Error) => {
      throw outputFailure(error);
    });
  const send = async (data: string | Uint8Array): Promise<void> =>
    stdout.terminal ? screen.above(async () => write(data)) : write(data);

  // Whoever closed standard error does not want to hear about it.
  const say = async (text: string): Promise<void> =>
    screen.above(async () => stderr.write(text).catch(() => {}));
  const sayLine = async (text: string): Promise<void> => say(`${printable(redact(text))}\n`);

  const flush = async (): Promise<void> => {
    if (gathered === "") return;
    const text = gathered;
    gathered = "";
    await send(text);
  };

  const gather = async (line: string): Promise<void> => {
    gathered += `${line}\n`;
    if (gathered.length > GATHERED_MAX) await flush();
  };

  return {
    json: asJson,
    terminal: stdout.terminal,
    result: (human, value) => gather(asJson ? toJson(value) : human),
    async report(value) {
      if (asJson) await gather(toJson(value));
    },
    text: send,
    bytes: send,
    flush,
    note: sayLine,
    fault: sayLine,
    event: async (value) => say(`${toJson(value)}\n`),
    block: (text) => say(`${redact(text)}\n`),
  };
}

function outputFailure(error: Error): Error {
  if (systemCodeOf(error) === "EPIPE") return new BrokenPipe();
  return new Failure("output", `cannot write to standard output: ${reasonOf(error)}`, error);
}

/** The same without remarks. */
export function quieted(out: Output): Output {
  return { ...out, note: async () => {} };
}
