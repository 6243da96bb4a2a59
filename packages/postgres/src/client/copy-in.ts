/**
 * COPY … FROM STDIN as the driver submits it: the statement, then all rows in one piece once the
 * server says that it takes them. Cost: one round trip for any number of rows.
 */
import type { Submittable } from 'pg';

/** What this needs of the driver's connection. */
interface CopyConnection {
  query(text: string): void;
  sendCopyFromChunk(chunk: Buffer): void;
  endCopyFrom(): void;
}

export class CopyIn implements Submittable {
  readonly done: Promise<void>;
  /** The driver passes its time-outs and broken connections through it. */
  callback: (error?: Error) => void = () => undefined;
  readonly #statement: string;
  readonly #rows: Buffer;

  constructor(statement: string, rows: Buffer) {
    this.#statement = statement;
    this.#rows = rows;
    this.done = new Promise((resolve, reject) => {
      this.callback = (error) => {
        if (error === undefined) resolve();
        else reject(error);
      };
    });
  }

  submit(connection: unknown): void {
    (connection as CopyConnection).query(this.#statement);
  }

  handleCopyInResponse(connection: unknown): void {
    const copy = connection as CopyConnection;
    copy.sendCopyFromChunk(this.#rows);
    copy.endCopyFrom();
  }

  handleError(error: Error): void {
    this.callback(error);
  }

  handleReadyForQuery(): void {
    this.callback();
  }

  handleCommandComplete(): void {
    // The end comes with ReadyForQuery, when the next statement may follow.
  }

  handleEmptyQuery(): void {
    // COPY is never empty.
  }
}
