// include/quern_mpi.h in C++, with all warnings.  Compiled by tests/mpi/run.sh.
#include <quern_mpi.h>

int join(MPI_Comm comm, quern_group_args *args);
int join(MPI_Comm comm, quern_group_args *args) { return quern_join_from_mpi(comm, args); }
int carry(MPI_Comm comm, quern_group_args *args);
int carry(MPI_Comm comm, quern_group_args *args) { return quern_carrier_from_mpi(comm, args) + quern_free_mpi_carrier(args); }
