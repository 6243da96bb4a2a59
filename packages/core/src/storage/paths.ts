/** Paths as the `FileSystem` takes them: absolute, `/` between names. Pure text, no disk. */

export function joinPath(...parts: readonly string[]): string {
  return normalizePath(parts.join('/'));
}

/** `relative` seen from `directory`; an absolute path stays what it is. */
export function resolvePath(directory: string, relative: string): string {
  return relative.startsWith('/') ? normalizePath(relative) : joinPath(directory, relative);
}

/** The directory that holds `path`; that of `/` is `/`. */
export function parentPath(path: string): string {
  const normal = normalizePath(path);
  const slash = normal.lastIndexOf('/');
  return slash <= 0 ? '/' : normal.slice(0, slash);
}

export function baseName(path: string): string {
  const normal = normalizePath(path);
  return normal.slice(normal.lastIndexOf('/') + 1);
}

/**
 * A path or `file:` URI as a user gives it, made absolute. `null` when it is a URI of another
 * scheme or of another host.
 */
export function parseUserPath(text: string, workingDirectory: string): string | null {
  if (!/^[A-Za-z][A-Za-z0-9+.-]+:/.test(text)) return resolvePath(workingDirectory, text);
  const match = /^file:(?:\/\/(?:localhost)?(?=\/))?(\/.*)$/i.exec(text);
  if (match === null || match[1]!.startsWith('//')) return null;
  try {
    return normalizePath(decodeURIComponent(match[1]!));
  } catch {
    return null;
  }
}

/** What to write where `parseUserPath` gave `null`, for the end of a message. */
export function userPathAdvice(text: string): string {
  const relative = /^file:(?:\/\/)?([^/].*)$/i.exec(text)?.[1];
  if (relative !== undefined)
    return `a file: URI must be absolute (file:///…); a plain path may be relative: ${relative}`;
  if (/^file:/i.test(text))
    return 'a percent sign stands as %25 in a file: URI; a plain path may be given as it is';
  return 'give a path, or a file: URI of this machine (file:///…)';
}

/** A slash before another one, before `.` or `..`, or at the end. */
const NOT_NORMAL = /\/\.{0,2}(?:\/|$)/;

/** Removes `.`, `..`, doubled and trailing slashes. */
function normalizePath(path: string): string {
  if (path.startsWith('/') && isPlain(path)) return path;
  const parts: string[] = [];
  for (const part of path.split('/')) {
    if (part === '' || part === '.') continue;
    if (part === '..') parts.pop();
    else parts.push(part);
  }
  return `/${parts.join('/')}`;
}

/** Nearly all paths are, and two searches cost less than a pattern. */
function isPlain(path: string): boolean {
  if (!path.includes('//') && !path.includes('/.') && !path.endsWith('/')) return true;
  return !NOT_NORMAL.test(path);
}
