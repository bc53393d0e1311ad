import { type PinnedRepository, parseWriter } from "@idk/snapshots";
import type { RepositoryEntry } from "../../config/config.ts";
import { formatPeriod } from "../../config/times.ts";
import type { RepositorySource } from "../../config/settings.ts";
import { adding, editConfig, quoted } from "../../config/write-config.ts";
import { messageOf, reasonOf, usage } from "../../errors/failures.ts";
import type { Environment } from "../../invocation.ts";

/**
 * What the configuration pins.
 *
 * @throws Failure `usage` if the owner's key has a wrong character
 */
export function pinnedOf({ id, owner, gracePeriod }: RepositoryEntry): PinnedRepository {
  try {
    const key = parseWriter(owner.value);
    const repository = id.value as PinnedRepository["repository"];
    return { repository, owner: key, graceSeconds: gracePeriod.value };
  } catch (error) {
    throw usage(`the owner of the repository in the configuration: ${messageOf(error)}`, error);
  }
}

/** What a table of the configuration pins, and how this host writes. */
export interface Pins {
  readonly pinned: PinnedRepository;
  /** The path of the writer key. */
  readonly writer?: string | undefined;
  readonly names?: readonly string[] | undefined;
}

/** The table of a store's repository, as `idk repo show` prints it and a first backup writes it. */
export function tableOf(store: string, { pinned, writer, names }: Pins): string {
  const name = /^[\w-]+$/u.test(store) ? store : quoted(store);
  const lines = [
    `[store.${name}.repository]`,
    `id = ${quoted(pinned.repository)}`,
    `owner = ${quoted(pinned.owner)}`,
    `grace-period = ${quoted(formatPeriod(pinned.graceSeconds))}`,
    ...(writer === undefined ? [] : [writerLine(writer)]),
    ...(names === undefined ? [] : [namesLine(names)]),
  ];
  return lines.map((line) => `${line}\n`).join("");
}

function writerLine(path: string): string {
  return `writer = ${quoted(path)}`;
}

function namesLine(names: readonly string[]): string {
  return `names = [${names.map(quoted).join(", ")}]`;
}

/**
 * Writes pins into the configuration: a new table at its end.
 *
 * @throws Failure `usage` with the lines to add by hand, if the file cannot be extended
 */
export async function addPins(
  { config, store }: NonNullable<RepositorySource["table"]>,
  pins: Pins,
  env: Environment,
): Promise<void> {
  const table = tableOf(store, pins);
  try {
    await editConfig(config, adding(table.trim().split("\n")), env);
  } catch (error) {
    throw usage(
      `cannot add the repository to ${config}: ${reasonOf(error)}; add by hand: ${table.trim()}`,
      error,
    );
  }
}

/**
 * Writes the writer key of this host, if the table has none, and the names under which it may write.
 *
 * @throws Failure `usage` with the lines to add by hand
 */
export async function extendPins(
  { config }: NonNullable<RepositorySource["table"]>,
  pins: RepositoryEntry,
  { writer, names }: { readonly writer: string; readonly names: readonly string[] },
  env: Environment,
): Promise<void> {
  const added = [
    ...(pins.writer === undefined ? [writerLine(writer)] : []),
    ...(pins.names === undefined ? [namesLine(names)] : []),
  ];
  const edit = (lines: string[]): void => {
    // From the end, so that the numbers of lines stay right.
    const at = pins.names === undefined ? undefined : pins.names.line - 1;
    if (at !== undefined) {
      if (!ONE_LINE.test(lines[at] ?? "")) throw new Error("names takes several lines");
      lines[at] = namesLine(names);
    }
    lines.splice(pins.gracePeriod.line, 0, ...added);
  };
  try {
    await editConfig(config, edit, env);
  } catch (error) {
    const lines = [writerLine(pins.writer?.value ?? writer), namesLine(names)];
    throw usage(
      `cannot change the repository in ${config}: ${reasonOf(error)}; change it by hand: ${lines.join("; ")}`,
      error,
    );
  }
}

/** Not the beginning of a longer list. */
const ONE_LINE = /^\s*names\s*=\s*(?:\[.*\]|"[^"]*")\s*$/u;
