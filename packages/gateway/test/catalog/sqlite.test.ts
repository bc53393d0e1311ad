import { describe } from "bun:test";
import { catalogBehaviour } from "./behaviour/behaviour.ts";
import { openSqliteFixture } from "./sqlite-fixture.ts";

describe("catalog in SQLite", () => {
  catalogBehaviour(openSqliteFixture);
});
