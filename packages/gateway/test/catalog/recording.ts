import type { Database, Plan, Statement } from "../../src/catalog/database/port.ts";

/** The same database, of which each statement is kept once, by its text. */
export function recording(database: Database, statements: Map<string, Statement>): Database {
  function* recorded<T>(plan: Plan<T>): Plan<T> {
    let step = plan.next();
    while (step.done !== true) {
      for (const statement of step.value) statements.set(statement.sql, statement);
      step = plan.next(yield step.value);
    }
    return step.value;
  }
  return {
    ...database,
    read: (plan) => database.read(() => recorded(plan())),
    query: (plan) => database.query(() => recorded(plan())),
    write: (plan) => database.write(() => recorded(plan())),
  };
}
