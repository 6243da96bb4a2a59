/**
 * Where PostgreSQL's programs are: on the path, or where Debian and others put them, which is off
 * the path. Of several versions the newest is taken.
 */
import { accessSync, constants, readdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';

export interface PostgresPrograms {
  readonly initdb: string;
  readonly postgres: string;
  readonly psql: string;
}

const HOMES: readonly string[] = ['/usr/lib/postgresql', '/usr/local/pgsql', '/opt/homebrew/opt'];

/** The programs, or the reason why there are none. */
export function postgresPrograms(): PostgresPrograms | string {
  const folders = candidateFolders();
  const server = folders.find((it) => ['initdb', 'postgres'].every((name) => runs(join(it, name))));
  if (server === undefined)
    return (
      'neither initdb and postgres nor WEIR_TEST_POSTGRES were found; install PostgreSQL ' +
      '(Debian: apt-get install postgresql)'
    );
  const psql = psqlIn(folders);
  if (psql === null) return 'psql was not found; install postgresql-client';
  return { initdb: join(server, 'initdb'), postgres: join(server, 'postgres'), psql };
}

/** psql alone, for a server that somebody else runs. */
export function psqlProgram(): string | null {
  return psqlIn(candidateFolders());
}

function psqlIn(folders: readonly string[]): string | null {
  return folders.map((folder) => join(folder, 'psql')).find(runs) ?? null;
}

function candidateFolders(): readonly string[] {
  const versions = HOMES.flatMap((home) =>
    foldersIn(home).toSorted((a, b) => Number.parseFloat(b) - Number.parseFloat(a)),
  );
  const onPath = (process.env['PATH'] ?? '').split(delimiter).filter((it) => it !== '');
  return [...versions.map((version) => join(version, 'bin')), ...onPath];
}

function foldersIn(home: string): string[] {
  try {
    const names = readdirSync(home).toSorted((a, b) => Number(b) - Number(a));
    return names.map((name) => join(home, name));
  } catch {
    return [];
  }
}

function runs(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
