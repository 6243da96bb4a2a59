/** The REST API of running jobs, server and client: what `cluster` loads, lazily. */
export { AsyncOperations } from './async-operations.ts';
export { RestClient } from './rest-client.ts';
export { RestError } from './rest-error.ts';
export { RestServer } from './rest-server.ts';
export type { RestBackend } from './routes.ts';
