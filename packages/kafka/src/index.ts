/** `@weir/kafka`: a source and a sink for Apache Kafka. */
export type { Security } from './client/broker-connection.ts';
