/**
 * A recorded server on Bun.
 *
 *   bun recorder/bun.ts ./archive ./spool RECIPIENT 3000
 *   idk recorder ls --store ./archive -i me.key
 */
import { closeOnSignals, openRecorder } from "./recorder.ts";

const { port, recorder } = openRecorder(process.argv.slice(2));
const server = Bun.serve({
  hostname: "127.0.0.1",
  port,
  fetch: recorder.handler(async (request) => {
    const { pathname } = new URL(request.url);
    if (pathname === "/login" && request.method === "POST") {
      const { email } = (await request.json()) as { email: string };
      return Response.json({ email, token: "a token" }, { status: 401 });
    }
    return new Response("not found\n", { status: 404, headers: { "content-type": "text/plain" } });
  }),
});
closeOnSignals(recorder, () => server.stop());
console.log(`listening on ${server.url}`);
