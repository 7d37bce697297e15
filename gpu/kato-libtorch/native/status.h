// What every function here returns: nothing, or an error's text that the caller frees.
#pragma once

#include <cstring>
#include <exception>

// Exceptions must not reach Rust: it would abort.
template <typename Work>
char* status_of(Work work) {
  try {
    work();
    return nullptr;
  } catch (const std::exception& error) {
    return strdup(error.what());
  }
}
