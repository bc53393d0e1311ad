import { exportLines } from "@idk/gateway";
import { type Command, command } from "../../command.ts";
import { CATALOG, openGatewayCatalog } from "../../gateway/open-gateway.ts";
import { withCatalogVariable } from "../../gateway/variables.ts";

/** Prints the objects of the catalog with the addresses of their content. */
export const gatewayExport: Command = withCatalogVariable(
  command(CATALOG, async (settings, { out, signal }) => {
    const catalog = await openGatewayCatalog(settings, false);
    try {
      for await (const line of exportLines(catalog)) {
        signal.throwIfAborted();
        // It is JSON with and without --json.
        await out.result(line.trimEnd(), JSON.parse(line));
      }
    } finally {
      await catalog.close();
    }
  }),
);
