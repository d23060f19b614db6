export * from './dist/lambda.js';
