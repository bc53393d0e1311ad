import { afterAll, beforeAll, describe } from "bun:test";
import {
  missingPostgres,
  type PostgresProcess,
  startPostgres,
} from "../../../servers/postgres-process.ts";
import { skipIfMissing } from "../../../servers/require-server.ts";
import { type S3Requests, s3Requests } from "../s3-requests.ts";
import { createWorld, type World } from "./world.ts";

/**
 * Defines tests twice: with one gateway over SQLite, and with two over one PostgreSQL.
 *
 * @param bucket created before them
 * @param tests gets the gateways, which are there when its tests run
 */
export function overEachCatalog(
  title: string,
  bucket: string,
  tests: (gateways: () => readonly S3Requests[]) => void,
): void {
  describe(`${title}, with one gateway over SQLite:`, () => {
    let world: World;
    let requests: S3Requests;
    beforeAll(async () => {
      world = await createWorld();
      requests = s3Requests(await world.serve());
      await requests.send("PUT", `/${bucket}`);
    });
    afterAll(async () => {
      requests[Symbol.dispose]();
      await world[Symbol.asyncDispose]();
    });

    tests(() => [requests]);
  });

  skipIfMissing(missingPostgres)(title, () => {
    describe("with two gateways over one PostgreSQL:", () => {
      let postgres: PostgresProcess;
      let world: World;
      let both: S3Requests[];
      beforeAll(async () => {
        postgres = await startPostgres();
        world = await createWorld({ catalog: postgres.url });
        // They begin at the same time, so that both find an empty database.
        const gateways = await Promise.all([world.serve(), world.serve()]);
        both = gateways.map((gateway) => s3Requests(gateway));
        await both[0]!.send("PUT", `/${bucket}`);
      });
      afterAll(async () => {
        for (const requests of both) requests[Symbol.dispose]();
        await world[Symbol.asyncDispose]();
        await postgres.remove();
      });

      tests(() => both);
    });
  });
}
