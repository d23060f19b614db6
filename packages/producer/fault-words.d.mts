export * from './dist/fault-words.js';
