// SPDX-License-Identifier: Apache-2.0
// Signatures of bundles: those of ssh-keygen -Y, beside the file as FILE.sig, which everybody can check with OpenSSH
// alone.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "harness/core/base/result.h"

namespace assay {

inline constexpr const char* kSignatureNamespace = "assay-bundle";

std::filesystem::path SignatureOf(const std::filesystem::path& file);

// `key`: a private key, or a public one whose private half an agent holds. Errors: what ssh-keygen says.
Status SignFile(const std::filesystem::path& file, const std::filesystem::path& key);

struct Signer {
  std::filesystem::path allowed;  // a list of allowed signers (ssh-keygen(1))
  std::string identity;           // who must have signed
};
// Describes the result in words. Without a signer only the signature itself is checked, and nobody vouches for its key.
// Fails if it does not sign these bytes or is not by the signer.
Result<std::string> CheckSignature(const std::filesystem::path& file, const std::optional<Signer>& signer);

}  // namespace assay
