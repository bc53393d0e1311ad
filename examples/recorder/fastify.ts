/**
 * A recorded Fastify application.
 *
 *   node --import tsx recorder/fastify.ts ./archive ./spool RECIPIENT 3000
 */
import { fastify } from "fastify";
import { closeOnSignals, openRecorder } from "./recorder.ts";

const { port, recorder } = openRecorder(process.argv.slice(2));
const app = fastify();
app.post<{ Body: { email: string } }>("/login", async (request, reply) => {
  const { email } = request.body;
  return reply.code(401).send({ email, token: "a token" });
});

recorder.attach(app.server);
closeOnSignals(recorder, () => app.close());
console.log(`listening on ${await app.listen({ host: "127.0.0.1", port })}/`);
