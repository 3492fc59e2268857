# SPDX-License-Identifier: GPL-3.0-or-later
# Read by nfs-ganesha's own CMakeLists.txt (CMAKE_PROJECT_INCLUDE): one more file for one of its libraries.
set(HONE_FSAL_MEM_SOURCE "${CMAKE_CURRENT_LIST_DIR}/fsal_mem.c")
cmake_language(DEFER CALL target_sources fsalmem PRIVATE "${HONE_FSAL_MEM_SOURCE}")
