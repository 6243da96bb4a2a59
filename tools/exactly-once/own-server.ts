/** What tests, benchmarks and demonstrations need to run a server of their own. */
import { execFileSync } from 'node:child_process';
import { createServer } from 'node:net';

/** Under whose name a server runs. */
export interface Account {
  /** `null`: this process is no root, and the server runs as the same user. */
  readonly ids: { readonly uid: number; readonly gid: number } | null;
}

/** The user that Debian has for the server, or the one that owns nothing; `null`: neither. */
export function unprivilegedAccount(own: string): Account | null {
  if (process.getuid?.() !== 0) return { ids: null };
  for (const name of [own, 'nobody']) {
    try {
      const id = (flag: string): number =>
        Number(execFileSync('id', [flag, name], { stdio: ['ignore', 'pipe', 'ignore'] }));
      return { ids: { uid: id('-u'), gid: id('-g') } };
    } catch {
      // There is no such user.
    }
  }
  return null;
}

export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      const port = typeof address === 'object' && address !== null ? address.port : 0;
      server.close(() => resolve(port));
    });
  });
}
