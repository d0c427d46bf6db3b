/* Runs a program whose buffers its header names, each rank after the other:
   nothing travels. usage: named_buffers PROGRAM.so */

#include "named-1.h"

#include <dlfcn.h>
#include <stdio.h>

/* Of x, which is cut in two by zigzag, and of the weight and the result. */
enum { ROWS = 8, PART = 4 };

static int run(const cprt_entry *entry, cprt_context *context, const double *x,
               double *y) {
  double weight[PART] = {2, 3, 4, 5};
  double part[PART] = {x[0], x[1], x[2], x[3]};
  void *buffers[NAMED_1_MAIN_NUM_BUFFERS];
  buffers[NAMED_1_MAIN_X] = part;
  buffers[NAMED_1_MAIN_THE_SCALE] = weight;
  buffers[NAMED_1_MAIN_THE_SCALE_2] = y;
  entry->run(context, NULL, buffers);
  return cprt_context_status(context) != CPRT_OK;
}

int main(int argc, char **argv) {
  void *file = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
  if (!file)
    return 2;
  const cprt_program *program =
      ((cprt_program_fn *)dlsym(file, "cp_program"))();
  const cprt_entry *entry = named_1_main(program);
  if (!entry) {
    puts("another program");
    return 0;
  }
  if (NAMED_1_NUM_RANKS != 2 ||
      cprt_tensor_part_bytes(&entry->arguments[NAMED_1_MAIN_X]) !=
          PART * sizeof(double))
    return 3;
  cprt_options options = {0};
  options.struct_size = sizeof options;
  options.num_axes = program->num_axes;
  options.axis_sizes = program->axis_sizes;
  cprt_world *world = NULL;
  char message[256];
  if (cprt_threads_create(&options, &world, message, sizeof message))
    return 4;
  double x[ROWS] = {1, 2, 3, 4, 5, 6, 7, 8}, y[ROWS] = {0};
  for (int rank = 0; rank < 2; ++rank)
    if (run(entry, cprt_world_context(world, rank), x + PART * rank,
            y + PART * rank))
      return 5;
  for (int i = 0; i < ROWS; ++i)
    printf("%g ", y[i]);
  puts("");
  cprt_world_destroy(world);
  return 0;
}
