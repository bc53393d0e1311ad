export { createGateway, type Gateway, type GatewayOptions } from "./gateway.ts";
export {
  type AccessKey,
  type Credentials,
  CredentialsError,
  parseCredentials,
  type Right,
} from "./credentials/credentials.ts";
export { isLoopback } from "./http/health.ts";
export { createMetrics, type Metrics } from "./http/metrics.ts";
export type { ListenOptions, TlsFiles } from "./http/server.ts";
