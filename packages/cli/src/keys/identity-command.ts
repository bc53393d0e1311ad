import { Failure, reasonOf, usage } from "../errors/failures.ts";
import { expandHome } from "../folders.ts";
import type { Environment } from "../invocation.ts";
import { isSecretNotPath } from "../output/secrets.ts";
import type { Session } from "../session.ts";
import type { IdentityCommand } from "./identity-source.ts";

/** The longest output accepted, in bytes: an identity is short. */
const OUTPUT_MAX = 2 ** 20;

/** Secrets of this program that are not passed on. */
const WITHHELD: ReadonlySet<string> = new Set([
  "IDK_IDENTITY_KEY",
  "IDK_NEW_PASSPHRASE",
  "IDK_PASSPHRASE",
  "IDK_SSE_C_KEY",
]);

/**
 * Runs a command without a shell and returns its output. Its standard error is the user's. Its
 * standard input is empty, because ours may be content. There is no timeout, because the user may
 * have to type a PIN; Ctrl-C ends it.
 *
 * @throws Failure `usage` if it cannot be run or fails; messages never repeat its output
 */
export async function runIdentityCommand(
  { command, from, folder, env }: IdentityCommand,
  { signal }: Session,
): Promise<Uint8Array> {
  signal.throwIfAborted();
  const words = typeof command === "string" ? await splitCommand(command, from) : command;
  const [program = "", ...args] = words.map((word) => expandHome(word, env));
  if (program === "") throw usage(`${from} names no program`);
  if (isSecretNotPath(program)) {
    throw usage(`${from} looks like a secret key, not a command that prints one`);
  }
  const child = start([program, ...args], folder, env, from);
  const kill = () => child.kill();
  signal.addEventListener("abort", kill);
  try {
    const output = await Promise.race([readAll(child.stdout, from), rejectedOn(signal)]);
    const code = await Promise.race([child.exited, rejectedOn(signal)]);
    signal.throwIfAborted();
    if (code !== 0) {
      const how = child.signalCode === null ? `exit code ${code}` : child.signalCode;
      throw usage(`${from}: ${program} failed (${how}) and gave no identity`);
    }
    if (output.length === 0)
      throw usage(`${from}: ${program} printed nothing, but must print an identity`);
    return output;
  } catch (error) {
    kill();
    throw error;
  } finally {
    signal.removeEventListener("abort", kill);
  }
}

function start(
  words: readonly string[],
  folder: string | undefined,
  env: Environment,
  from: string,
): Bun.Subprocess<"ignore", "pipe", "inherit"> {
  const passed = Object.entries(env).filter(([name]) => !WITHHELD.has(name));
  try {
    return Bun.spawn([...words], {
      ...(folder !== undefined && { cwd: folder }),
      env: Object.fromEntries(passed),
      stdin: "ignore",
      stdout: "pipe",
      stderr: "inherit",
    });
  } catch (error) {
    throw usage(`${from}: cannot run ${words[0]}: ${reasonOf(error)}`, error);
  }
}

async function readAll(stream: ReadableStream<Uint8Array>, from: string): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of stream) {
    length += piece.length;
    if (length > OUTPUT_MAX) throw usage(`${from} prints more than an identity`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

async function rejectedOn(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}

/** Rejects shell syntax: nobody means `|` as an argument. */
async function splitCommand(text: string, from: string): Promise<readonly string[]> {
  const { parse } = await import("shell-quote");
  // Variables also become operators, and are rejected.
  const words = parse(text, (name) => ({ op: `$${name}` }));
  if (words.every((word) => typeof word === "string")) return words;
  throw new Failure(
    "usage",
    `${from} runs without a shell, but ${nameOf(words)} needs one: use a script, or sh -c '…'`,
  );
}

function nameOf(words: readonly unknown[]): string {
  const strange = words.find((word) => typeof word !== "string");
  if (typeof strange !== "object" || strange === null) return "it";
  if ("pattern" in strange) return String(strange.pattern);
  return "op" in strange ? String(strange.op) : "#";
}
