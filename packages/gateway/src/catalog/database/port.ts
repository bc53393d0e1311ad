/** A value of a statement: integers up to 2^53, text, bytes or null. */
export type Value = number | string | Uint8Array | null;

/** A row by column. PostgreSQL returns a BIGINT as text: read it with `integer`. */
export type Row = Readonly<Record<string, Value>>;

/** SQL that both databases understand, with `?` for each value in order. It contains no other `?`. */
export interface Statement {
  readonly sql: string;
  readonly values: readonly Value[];
}

/**
 * A transaction as a generator: it yields the statements to run next, and is resumed with the rows of each.
 * So one text serves SQLite, which runs it in one go without giving way to others, and PostgreSQL, which
 * awaits each answer. A plan may be run more than once, from its start, so it changes nothing outside.
 */
export type Plan<T> = Generator<readonly Statement[], T, readonly (readonly Row[])[]>;

/** What differs between the databases. */
export interface Dialect {
  readonly name: "sqlite" | "postgres";
  /** The type of byte strings. */
  readonly bytes: "BLOB" | "BYTEA";
  /** Behind a text column, so that it sorts by its bytes. */
  readonly binary: string;
  /** Behind a table, to store its rows in the order of its primary key. */
  readonly clustered: string;
  /** Makes the sequence. */
  readonly createSequence: string;
  /** Takes the next number of the sequence, as `seq`. In a transaction that is durable. */
  readonly nextSeq: string;
  /** The highest number given out so far, or higher, as `seq`. */
  readonly highestSeq: string;
  /** Continues the sequence above a number: one value. */
  readonly raiseSeq: string;
  /** The position of the first occurrence, from 1, or 0. */
  position(needle: string, haystack: string): string;
  /** Two byte strings joined. */
  joined(a: string, b: string): string;
  /** Behind a SELECT, to lock the rows that it finds until the end of the transaction. */
  readonly rowLock: string;
  /** Locks until the end of the transaction. SQLite needs none, because there is one writer. */
  lock(id: bigint, isShared: boolean): Statement | undefined;
}

/** A row to insert together with a number that it begins with, in the column `seq`. */
export interface NumberedRow {
  readonly table: string;
  /** The other columns, in order. */
  readonly columns: readonly string[];
  readonly values: readonly Value[];
  /** The lock to share while the row is inserted, so that whoever has it alone sees all such rows. */
  readonly lock: bigint;
}

/** Where plans run that only read. They never wait for a writer, and reject with `CatalogError`. */
export interface Reader {
  /** Runs a plan that only reads, all its statements at one moment. */
  read<T>(plan: () => Plan<T>): Promise<T>;
  /** The same for a plan whose statements need not see one moment, as when there is one only. */
  query<T>(plan: () => Plan<T>): Promise<T>;
}

export function statement(sql: string, ...values: readonly Value[]): Statement {
  return { sql, values };
}

/** Runs one statement and returns its rows. */
export function* rows(sql: string, ...values: readonly Value[]): Plan<readonly Row[]> {
  const [result] = yield [{ sql, values }];
  return result!;
}

/** Runs several statements, in order, in one round trip. */
export function* all(...statements: readonly Statement[]): Plan<readonly (readonly Row[])[]> {
  return yield statements;
}

/** The integer of a column. */
export function integer(value: Value | undefined): number {
  const number = typeof value === "string" ? Number(value) : value;
  if (!Number.isSafeInteger(number)) throw new Error("a column of the catalog is not an integer");
  return number as number;
}

const SIZES = [1, 4, 16, 64, 256, 1000] as const;

/** The most values of one `list`. */
export const LIST_LIMIT = 1000;

/**
 * A list for `IN`, as placeholders and values. It is filled up with its last value, so that there are few
 * different statements to prepare. `values` is not empty, and has at most `LIST_LIMIT`.
 */
export function list(values: readonly Value[]): { marks: string; values: Value[] } {
  const size = SIZES.find((size) => size >= values.length)!;
  const filled = Array.from({ length: size }, (_, i) => values[Math.min(i, values.length - 1)]!);
  return { marks: `(${filled.map(() => "?").join(", ")})`, values: filled };
}

/** Divides a list into pieces of at most `size`. */
export function batches<T>(values: readonly T[], size: number): T[][] {
  const result: T[][] = [];
  for (let at = 0; at < values.length; at += size) result.push(values.slice(at, at + size));
  return result;
}
