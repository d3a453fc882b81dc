#pragma once
/* steps.h -- what one thread does with one element, step by step. */
#include "gpu/kernel.h"

/* Whether the device in use can run an instruction, as far as its dtypes and operation say. */
bool mx_steps_supports(const struct mx_instruction *in);

/* Whether an instruction has a status word: it is a check, or it may meet floating-point
 * conditions that the program wants to know of. */
bool mx_steps_has_status(const struct mx_instruction *in);

/* Declares the variables in which the steps collect what they report. */
void mx_steps_declare(struct mx_kernel *kernel, const struct mx_status_words *words);

/* Declares a variable for each view, and loads those that are read. */
void mx_steps_load(struct mx_kernel *kernel);

/* Loads what is read, computes the steps, and stores what is written.  `print_reduction` prints
 * the steps that reduce. */
void mx_steps_print(struct mx_kernel *kernel,
                    void (*print_reduction)(struct mx_kernel *kernel, int step));

/* The same for a pack of elements, which begins at the position along the last axis.  `end` is
 * the position after the last element, of the type of offsets.  NULL: the pack is whole. */
void mx_steps_print_packs(struct mx_kernel *kernel, const char *end,
                          void (*print_reduction)(struct mx_kernel *kernel, int step));

/* Writes what the steps collected to the status words. */
void mx_steps_report(struct mx_kernel *kernel, const struct mx_status_words *words);

/* The type in which an instruction computes with operand k. */
const char *mx_steps_type(const struct mx_instruction *in, int k);

/* Prints operand k of a step: a variable, or a value among the arguments. */
void mx_steps_print_operand(struct mx_kernel *kernel, int step, int k);

/* Declares `target`, the offset of the element of operand k that the indices of a step select,
 * and `is_selected`, which is false if an index selects none. */
void mx_steps_print_target(struct mx_kernel *kernel, int step, int k);

/* Prints a struct `name` whose function apply is the operation on two elements. */
void mx_steps_print_operation(struct mx_kernel *kernel, int op, const char *name,
                              const char *type, const char *second_type);
