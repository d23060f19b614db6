// @ts-check
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { projectFolder } from '../project-folders.mjs';

/** @typedef {any} Node of TypeScript's syntax tree, of any kind */
/** @typedef {{ readonly file: string, readonly names: readonly string[] }} Step a file of a walk; `names`: where it begins, if nothing above calls it */

const PRODUCT = /^(?:packages|apps)\/[^/]+\/src\/.*(?<!\.d|\.script)\.tsx?$/;

/**
 * Which files the functions on a way lead to, by the compiler: by what they call, create or pass on. A method leads to those that classes
 * have in its place. A value of a type of functions leads nowhere: the step behind it names where it begins.
 * @param {string} project
 * @param {readonly string[]} files all that are listed somewhere
 */
export function openWalks(project, files) {
  // TypeScript 7 has no API for this. The client has TypeScript 5, for `openapi-typescript`.
  const ts = createRequire(join(projectFolder, 'packages/client/package.json'))('typescript');
  const program = ts.createProgram(
    files.map((file) => join(project, file)),
    {
      target: ts.ScriptTarget.ES2023,
      module: ts.ModuleKind.NodeNext,
      moduleResolution: ts.ModuleResolutionKind.NodeNext,
      strict: true,
      noEmit: true,
      skipLibCheck: true,
      types: ['node'],
      typeRoots: [join(projectFolder, 'node_modules/@types')],
      paths: {
        '@hookferry/core/*': [join(project, 'packages/core/src/*')],
        '@hookferry/producer/*': [join(project, 'packages/producer/src/*')],
      },
    },
  );
  const checker = program.getTypeChecker();
  const heirs = findHeirs();

  /**
   * @param {readonly Step[]} steps
   * @param {(file: string) => boolean} isAside
   * @returns what is led to and is not listed, each with the first that does; the steps that nothing leads to; the names that are not there
   */
  return function follow(steps, isAside) {
    const listed = new Set(steps.map(({ file }) => file));
    /** @type {Map<string, string>} */
    const missing = new Map();
    /** @type {Set<Node>} */
    const seen = new Set();
    /** @type {Set<string>} */
    const reached = new Set();

    const lost = steps.flatMap(({ file, names }) =>
      names
        .filter((name) => {
          const found = namedIn(file, name);
          for (const node of found) enter(node);
          return found.length === 0;
        })
        .map((name) => `${name} of ${file}`),
    );
    const unreached = steps.filter(({ file }) => file.endsWith('.ts') && !reached.has(file));
    return { missing, lost, unreached: unreached.map(({ file }) => file) };

    /** @param {Node} declaration */
    function enter(declaration) {
      if (seen.has(declaration)) return;
      seen.add(declaration);
      reached.add(pathOf(declaration));
      for (const part of partsOf(declaration)) read(part, declaration);
    }

    /** @param {Node} node @param {Node} from */
    function read(node, from) {
      // What is only a type leads nowhere.
      if (ts.isTypeNode(node)) return;
      if (ts.isIdentifier(node) || ts.isPrivateIdentifier(node)) lead(node, from);
      ts.forEachChild(node, (/** @type {Node} */ child) => read(child, from));
    }

    /** @param {Node} identifier @param {Node} from */
    function lead(identifier, from) {
      for (const declaration of declarationsOf(identifier)) {
        const file = pathOf(declaration);
        if (!PRODUCT.test(file) || !isCode(declaration)) continue;
        if (listed.has(file)) enter(declaration);
        else if (!isAside(file) && !missing.has(file))
          missing.set(file, `${pathOf(from)} (${nameOf(from)}: ${identifier.text})`);
      }
    }
  };

  /** @param {Node} node @returns {string} */
  function pathOf(node) {
    return node.getSourceFile().fileName.slice(project.length + 1);
  }

  /** @param {Node} identifier @returns {readonly Node[]} */
  function declarationsOf(identifier) {
    const symbol = ts.isShorthandPropertyAssignment(identifier.parent)
      ? checker.getShorthandAssignmentValueSymbol(identifier.parent)
      : checker.getSymbolAtLocation(identifier);
    const declared = originalOf(symbol)?.declarations ?? [];
    return declared.flatMap((/** @type {Node} */ one) => [one, ...inPlaceOf(one)]);
  }

  /** @param {Node} symbol */
  function originalOf(symbol) {
    return symbol && symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
  }

  /** The members that classes have in the place of one. @param {Node} member @returns {readonly Node[]} */
  function inPlaceOf(member) {
    const { parent, name } = member;
    if (
      parent === undefined ||
      name === undefined ||
      !(ts.isClassLike(parent) || ts.isInterfaceDeclaration(parent))
    )
      return [];
    return (heirs.get(parent) ?? []).flatMap((heir) => {
      const own = heir.members.filter((/** @type {Node} */ each) => each.name?.getText() === name.getText());
      return [...own, ...own.flatMap(inPlaceOf)];
    });
  }

  /** The classes that extend another one or implement an interface. @returns {Map<Node, Node[]>} */
  function findHeirs() {
    const found = new Map();
    for (const source of program.getSourceFiles()) {
      if (!PRODUCT.test(pathOf(source))) continue;
      for (const heir of source.statements.filter(ts.isClassDeclaration)) {
        for (const { expression } of (heir.heritageClauses ?? []).flatMap(
          (/** @type {Node} */ clause) => clause.types,
        )) {
          for (const parent of originalOf(checker.getSymbolAtLocation(expression))?.declarations ?? [])
            found.set(parent, [...(found.get(parent) ?? []), heir]);
        }
      }
    }
    return found;
  }

  /** Of a class, what runs when one is made; of anything else, all of it. @param {Node} declaration @returns {readonly Node[]} */
  function partsOf(declaration) {
    if (!ts.isClassLike(declaration))
      return ts.isConstructorDeclaration(declaration) ? [declaration.body] : [declaration];
    const made = declaration.members.filter(
      (/** @type {Node} */ member) =>
        ts.isConstructorDeclaration(member) ||
        (ts.isPropertyDeclaration(member) && member.initializer && !isFunction(member.initializer)),
    );
    const parents = (declaration.heritageClauses ?? []).filter(
      (/** @type {Node} */ { token }) => token === ts.SyntaxKind.ExtendsKeyword,
    );
    return [
      ...made,
      ...parents.flatMap((/** @type {Node} */ clause) =>
        clause.types.map((/** @type {Node} */ { expression }) => expression),
      ),
    ];
  }

  /** @param {Node} node */
  function isFunction(node) {
    return node !== undefined && (ts.isArrowFunction(node) || ts.isFunctionExpression(node));
  }

  /** Functions, classes, their methods, and what holds a function. @param {Node} node */
  function isCode(node) {
    if (
      ts.isFunctionDeclaration(node) ||
      ts.isClassLike(node) ||
      ts.isAccessor(node) ||
      (ts.isMethodDeclaration(node) && node.body)
    )
      return true;
    if (ts.isVariableDeclaration(node) && node.parent.parent.parent?.kind !== ts.SyntaxKind.SourceFile)
      return false;
    if (ts.isVariableDeclaration(node) || ts.isPropertyDeclaration(node))
      return node.initializer !== undefined && hasFunction(node.initializer);
    return false;
  }

  /** @param {Node} node @returns {boolean} */
  function hasFunction(node) {
    return isFunction(node) || ts.isMethodDeclaration(node) || ts.forEachChild(node, hasFunction) === true;
  }

  /** @param {string} file @param {string} name of a function, of a class, or of its method behind a point @returns {readonly Node[]} */
  function namedIn(file, name) {
    const [first, method] = name.split('.');
    const { statements } = program.getSourceFile(join(project, file));
    const declared = statements.flatMap((/** @type {Node} */ one) =>
      ts.isVariableStatement(one) ? one.declarationList.declarations : [one],
    );
    return declared
      .filter((/** @type {Node} */ one) => one.name?.text === first)
      .flatMap((/** @type {Node} */ one) => {
        const members = one.members?.filter((/** @type {Node} */ each) => isCode(each)) ?? [];
        if (method === undefined) return [one, ...members];
        return members.filter((/** @type {Node} */ each) => each.name?.getText() === method);
      });
  }

  /** @param {Node} node @returns {string} */
  function nameOf(node) {
    return node.name?.getText() ?? (node.parent ? nameOf(node.parent) : '?');
  }
}
