/** Tells of a path in the build context whether `.dockerignore` leaves it out. The last rule that fits decides. */
export function readDockerIgnore(text: string): (path: string) => boolean {
  const rules = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => ({ ignores: !line.startsWith('!'), pattern: toPattern(line.replace(/^!/, '')) }));
  return (path) => {
    const within = withParents(path);
    return rules.findLast(({ pattern }) => within.some((part) => pattern.test(part)))?.ignores ?? false;
  };
}

// A rule for a folder is one for all that is in it.
function withParents(path: string): string[] {
  const parts = path.split('/');
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'));
}

function toPattern(glob: string): RegExp {
  const source = glob.replaceAll(/\*\*\/|\*\*|\*|\?|[.+^${}()|[\]\\]/g, (part) => {
    if (part === '**/') return '(?:.*/)?';
    if (part === '**') return '.*';
    if (part === '*') return '[^/]*';
    if (part === '?') return '[^/]';
    return `\\${part}`;
  });
  return new RegExp(`^${source}$`);
}
