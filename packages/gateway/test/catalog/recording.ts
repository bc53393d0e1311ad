import { type Changes, changesOf } from "../../src/catalog/changes.ts";
import type { Database } from "../../src/catalog/database/database.ts";
import type { Dialect, Plan, Statement } from "../../src/catalog/database/port.ts";

/** Keeps each statement once, by its text. */
export interface Recorder {
  readonly statements: ReadonlyMap<string, Statement>;
  /** All changes, as they are but for that. */
  changesOf(dialect: Dialect): Changes;
  /** The same database, as it is but for that. */
  readsOf(database: Database): Database;
}

export function createRecorder(): Recorder {
  const statements = new Map<string, Statement>();
  function* recorded<T>(plan: Plan<T>): Plan<T> {
    let step = plan.next();
    while (step.done !== true) {
      for (const statement of step.value) statements.set(statement.sql, statement);
      step = plan.next(yield step.value);
    }
    return step.value;
  }
  return {
    statements,
    changesOf: (dialect) =>
      Object.fromEntries(
        Object.entries(changesOf(dialect)).map(([name, change]) => [
          name,
          (...given: never[]) =>
            recorded((change as (...given: never[]) => Plan<unknown>)(...given)),
        ]),
      ) as unknown as Changes,
    readsOf: (database) => ({
      ...database,
      read: (plan) => database.read(() => recorded(plan())),
      query: (plan) => database.query(() => recorded(plan())),
    }),
  };
}
