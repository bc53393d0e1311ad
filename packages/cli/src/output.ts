import { BrokenPipe, Failure, reasonOf, systemCodeOf } from "./failures.ts";
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
  /** A remark for people, on standard error. */
  note(text: string): Promise<void>;
  /** A text for people of several lines, such as a stack, on standard error. */
  block(text: string): Promise<void>;
}

const GATHERED_MAX = 64 * 1024;

export function createOutput(options: { readonly json: boolean }): Output {
  const { stdout, stderr } = process;
  // Errors come back from each write; without a listener they would end the process as well.
  stdout.on("error", () => {});
  stderr.on("error", () => {});
  let gathered = "";

  const send = (data: string | Uint8Array): Promise<void> =>
    new Promise((resolve, reject) => {
      stdout.write(data, (error) => (error ? reject(outputFailure(error)) : resolve()));
    });

  // Whoever closed standard error does not want to hear about it.
  const say = (text: string): Promise<void> =>
    new Promise((resolve) => {
      stderr.write(text, () => resolve());
    });

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
    json: options.json,
    terminal: stdout.isTTY,
    result: (human, json) => gather(options.json ? toJson(json) : human),
    async report(json) {
      if (options.json) await gather(toJson(json));
    },
    text: send,
    bytes: send,
    flush,
    note: (text) => say(`${printable(redact(text))}\n`),
    block: (text) => say(`${redact(text)}\n`),
  };
}

function outputFailure(error: Error): Error {
  if (systemCodeOf(error) === "EPIPE") return new BrokenPipe();
  return new Failure("output", `cannot write to standard output: ${reasonOf(error)}`, error);
}
