import { BrokenPipe, Failure, reasonOf, systemCodeOf } from "../errors/failures.ts";
import type { Screen } from "./screen.ts";
import { standardError, standardOutput } from "./standard-streams.ts";
import { printableLines, printableMessage, redact, toJson } from "./text.ts";

/** Prints results to standard output, and everything else to standard error. */
export interface Output {
  readonly json: boolean;
  /** Whether standard output is a terminal. */
  readonly terminal: boolean;
  /**
   * One result: text for people, or one JSON object on a line for programs. Buffered until
   * `flush`.
   */
  result(human: string, json: unknown): Promise<void>;
  /** A result of interest to programs only: printed with `--json`. */
  report(json: unknown): Promise<void>;
  /** Our own text, such as help, on standard output. */
  text(text: string): Promise<void>;
  /** Content, unchanged. Resolves when the reader has taken it, so that memory stays bounded. */
  bytes(bytes: Uint8Array): Promise<void>;
  /** Writes what is buffered, and waits for it and for results that others have begun to write. */
  flush(): Promise<void>;
  /**
   * A line for people on standard error, omitted with `--quiet`; with `--json` as `{"note":…}`, without
   * the name of the program.
   */
  note(text: string): Promise<void>;
  /** The same also with `--quiet`: the failure of one of several items, or what an operator has to know. */
  fault(text: string): Promise<void>;
  /** One JSON object on a line of standard error, for programs that follow the progress. */
  event(json: unknown): Promise<void>;
  /** Text of several lines, such as a stack trace, on standard error. */
  block(text: string): Promise<void>;
}

const BUFFER_MAX = 64 * 1024;

export interface OutputOptions {
  readonly json: boolean;
  readonly screen: Screen;
}

export function createOutput({ json: asJson, screen }: OutputOptions): Output {
  const [stdout, stderr] = [standardOutput(), standardError()];
  let buffered = "";
  let writing: Promise<void> | undefined;

  const write = (data: string | Uint8Array): Promise<void> =>
    stdout.write(data).catch((error: Error) => {
      throw outputFailure(error);
    });
  const send = async (data: string | Uint8Array): Promise<void> =>
    stdout.terminal ? screen.above(async () => write(data)) : write(data);

  // If standard error is closed, there is no one to report that to.
  const writeError = async (text: string): Promise<void> =>
    screen.above(async () => stderr.write(text).catch(() => {}));
  const errorLine = async (text: string): Promise<void> => {
    const note = (): string => toJson({ note: redact(text.replace(/^idk: (?:note: )?/u, "")) });
    await writeError(`${asJson ? note() : printableMessage(text)}\n`);
  };

  const flush = async (): Promise<void> => {
    if (buffered !== "") {
      const text = printableLines(buffered);
      buffered = "";
      const mine = send(text).finally(() => {
        // A failure is of this write alone.
        if (writing === mine) writing = undefined;
      });
      writing = mine;
    }
    await writing;
  };

  const buffer = async (line: string): Promise<void> => {
    buffered += `${line}\n`;
    if (buffered.length > BUFFER_MAX) await flush();
  };

  return {
    json: asJson,
    terminal: stdout.terminal,
    result: (human, value) => buffer(asJson ? toJson(value) : human),
    async report(value) {
      if (asJson) await buffer(toJson(value));
    },
    text: send,
    bytes: send,
    flush,
    note: errorLine,
    fault: errorLine,
    event: async (value) => writeError(`${toJson(value)}\n`),
    block: (text) => writeError(`${printableLines(redact(text))}\n`),
  };
}

function outputFailure(error: Error): Error {
  if (systemCodeOf(error) === "EPIPE") return new BrokenPipe();
  return new Failure("output", `cannot write to standard output: ${reasonOf(error)}`, error);
}

/** The same without notes. */
export function withoutNotes(out: Output): Output {
  return { ...out, note: async () => {} };
}
