/**
 * Where the engine reports what happens. `fields` are structured; the text alone must be enough.
 */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

export interface Logger {
  log(level: LogLevel, message: string, fields?: Readonly<Record<string, unknown>>): void;
}

export const silentLogger: Logger = { log: () => undefined };
