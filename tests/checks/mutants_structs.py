"""The mutants of the structs that begin with their size, for mutants.py: name, file, old text, new text, suite that must fail."""

CHECKS = "src/runtime/arguments.c"
INITIALISERS = "src/runtime/structs.c"

CPU = [
    ("a plain sizeof taken", CHECKS, "largest = is_marked(size) ? known : known - 1;", "largest = known;", "test_structs"),
    ("any mark taken", CHECKS, "return size >> MARK_BITS == QUERN_STRUCT_MARK >> MARK_BITS;", "return size >> MARK_BITS != 0;",
     "test_structs"),
    ("sizes of older headers refused", CHECKS, "is_marked(size) ? known : known - 1;", "is_marked(size) ? known : oldest - 1;",
     "test_structs"),
    ("sizes between two headers taken", CHECKS, "bytes <= largest && bytes % sizeof(void *) == 0", "bytes <= largest",
     "test_structs"),
    ("the mark taken for bytes", "src/adam/adam_arguments.c", "quern_struct_bytes(given->size);", "(uint16_t)given->size % 128;",
     "test_structs"),
    ("a plain sizeof not told", CHECKS, 'size == known ? ", a plain sizeof" : ""', 'size == 0 ? ", a plain sizeof" : ""',
     "test_structs"),
    ("a nested loss that is not looked at", "src/cross_entropy/linear_cross_entropy.c",
     '    if (status == QUERN_OK) status = quern_check_struct(device, "args.loss", &given->loss, sizeof given->loss);\n', "",
     "test_structs"),
    ("an array of groups by this header's size", "src/ranks/group/group.c", "i < count; i++, given += bytes) {",
     "i < count; i++, given += sizeof *args) {", "test_structs"),
    ("a group's arguments beyond their size", "src/ranks/group/group.c",
     "        args[i] = (quern_group_args){0};\n        memcpy(&args[i], given, bytes);", "        memcpy(&args[i], given, sizeof *args);",
     "test_structs"),
    ("a function without the defaults", INITIALISERS, "DEFINE_INIT(quern_adam_args, QUERN_ADAM_ARGS_INIT)",
     "#define SIZE_ONLY { .size = QUERN_STRUCT_SIZE(quern_adam_args) }\nDEFINE_INIT(quern_adam_args, SIZE_ONLY)", "test_structs"),
    ("a function without the mark", INITIALISERS, "DEFINE_INIT(quern_barrier_args, QUERN_BARRIER_ARGS_INIT)",
     "#define NO_MARK { .size = sizeof(quern_barrier_args) }\nDEFINE_INIT(quern_barrier_args, NO_MARK)", "test_structs"),
    ("a function that writes its defaults only", INITIALISERS,
     "if (target) memcpy(target, &initial, sizeof initial);", "if (target) memcpy(target, &initial, sizeof initial - 8);",
     "test_structs"),
    ("NULL initialised", INITIALISERS, "if (target) memcpy(", "memcpy(", "test_structs"),
    ("tensors of size 0", "src/adam/adam_arguments.c", "if (args->tensor_size < OLDEST_TENSOR ||",
     "if ((args->tensor_size && args->tensor_size < OLDEST_TENSOR) ||", "test_structs"),
    ("gradients of size 0", "src/adam/gradients.c", "if (gradient_size != sizeof(quern_gradient))",
     "if (gradient_size && gradient_size != sizeof(quern_gradient))", "test_structs"),
    ("label 0 ignored by default", "include/quern.h", "set(ignore_index, -100) ", "", "test_structs"),
]
