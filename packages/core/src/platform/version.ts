/** Of this service. All packages have the same: a test compares. */
export const VERSION = '0.1.0';

/** Where the project is, for receivers that wonder who calls. The same as `homepage` in package.json; set both on publication. */
export const PROJECT_URL = 'https://github.com/hookferry/hookferry';
