/** Copies the first bytes of a file into a new one, durably but for its name. */
import type { FileSystem } from '../../base/file-system.ts';
import { closeQuietly } from '../../storage/durable-file.ts';

const CHUNK_BYTES = 4 * 1024 ** 2;

/** Fails when the new file exists, or the old one is shorter. */
export async function copyPrefix(
  fileSystem: FileSystem,
  {
    from,
    to,
    sizeBytes,
  }: { readonly from: string; readonly to: string; readonly sizeBytes: number },
): Promise<void> {
  const reader = await fileSystem.openForRead(from);
  try {
    const writer = await fileSystem.create(to, { exclusive: true });
    try {
      for (let at = 0; at < sizeBytes;) {
        const bytes = await reader.read(at, Math.min(CHUNK_BYTES, sizeBytes - at));
        if (bytes.length === 0) throw new Error(`${from} ends at ${at} of ${sizeBytes} bytes`);
        await writer.write(bytes);
        at += bytes.length;
      }
      await writer.sync();
    } finally {
      await closeQuietly(writer);
    }
  } finally {
    await reader.close();
  }
}
