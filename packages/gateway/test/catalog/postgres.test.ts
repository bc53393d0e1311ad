import { requireServer } from "../../../../tests/servers/require-server.ts";
import { catalogBehaviour } from "./behaviour/behaviour.ts";
import { openPostgresFixture } from "./postgres-fixture.ts";

requireServer("postgres")("catalog in PostgreSQL", () => {
  catalogBehaviour(openPostgresFixture);
});
