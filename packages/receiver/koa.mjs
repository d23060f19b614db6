export * from './dist/koa.js';
