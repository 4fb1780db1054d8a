# How cpack makes a package of a folder of files (.dev/pack): NI_PACKAGE is its name, NI_ROOT the folder, NI_CHANGES the
# changes as an rpm tells them. Nothing is stripped, compiled or generated here, and no package has a script: what it
# installs is its files.
set(CPACK_PACKAGE_NAME ${NI_PACKAGE})
set(CPACK_PACKAGE_VENDOR "The nccl-init developers")
set(CPACK_INSTALLED_DIRECTORIES "${NI_ROOT};/")
set(CPACK_PACKAGING_INSTALL_PREFIX /)
set(CPACK_TOPLEVEL_TAG linux)
set(CPACK_PACKAGE_FILE_NAME ${NI_PACKAGE})

set(summary_nccl-init "Set NCCL's variables for the RDMA devices of a pod")
set(description_nccl-init
"nccl-init finds the RDMA devices that this pod was given, sets the NCCL
variables that fit them, raises the locked-memory limit where it may, and then
becomes the command that follows on its command line. On a node it shows what
is wrong there (nccl-init doctor). It is one static program.")
set(licence_nccl-init "Apache-2.0 AND Linux-OpenIB AND LGPL-2.1-only AND CC0-1.0 AND MIT")
set(summary_nccl-init-hook "Raise locked memory of containers that have an RDMA device")
set(description_nccl-init-hook
"CRI-O and podman start nccl-init-hook for each container. If a container was
given an RDMA device, the hook raises its limit of locked memory, so that a pod
needs no capability for it. To install it is to use it: containers that start
from then on have the limit.")
set(licence_nccl-init-hook "Apache-2.0 AND MIT")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${summary_${NI_PACKAGE}}")
set(CPACK_PACKAGE_DESCRIPTION "${description_${NI_PACKAGE}}")

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "${description_${NI_PACKAGE}}")
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)

set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
set(CPACK_RPM_PACKAGE_DESCRIPTION "${description_${NI_PACKAGE}}")
set(CPACK_RPM_PACKAGE_LICENSE "${licence_${NI_PACKAGE}}")
set(CPACK_RPM_PACKAGE_URL ${CPACK_PACKAGE_HOMEPAGE_URL})
set(CPACK_RPM_PACKAGE_GROUP System/Base)
set(CPACK_RPM_PACKAGE_AUTOREQPROV no)
set(CPACK_RPM_CHANGELOG_FILE ${NI_CHANGES})
set(CPACK_RPM_USER_FILELIST "%license /usr/share/doc/${NI_PACKAGE}/LICENSE")
# Of the folders it owns those that a system may lack, so that they go with it.
set(CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION /usr/libexec /usr/share/man /usr/share/man/man8)
# The same bytes each time, on each machine; and nothing is done to the files. Every rpm since 4.6 reads gzip.
set(CPACK_RPM_SPEC_MORE_DEFINE
"%define packager ${CPACK_PACKAGE_CONTACT}
%define _buildhost localhost
%define use_source_date_epoch_as_buildtime 1
%define clamp_mtime_to_source_date_epoch 1
%define _binary_payload w9.gzdio
%define _build_id_links none
%define __os_install_post %{nil}
%define __strip /bin/true")
