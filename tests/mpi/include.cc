// include/quern_mpi.h in C++, with all warnings.  Compiled by tests/mpi/run.sh.
#include <quern_mpi.h>

int join(MPI_Comm comm, quern_group_args *args);
int join(MPI_Comm comm, quern_group_args *args) { return quern_join_from_mpi(comm, args); }
