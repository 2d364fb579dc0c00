/* SPDX-License-Identifier: Apache-2.0
 *
 * Attempts of a hostile plugin in one execution: to see, change or end what it does not own. An attempt that succeeds
 * shows by its result, which is then wrong. */
#ifndef TESTS_INTEGRATION_HOSTILE_ATTEMPTS_H
#define TESTS_INTEGRATION_HOSTILE_ATTEMPTS_H

/* Makes the attempts of these names, which commas separate; nonzero if one succeeded or a name is unknown. */
int hostile_attempt(const char* names);

#endif
