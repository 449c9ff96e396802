/* data/arrow_files.h -- what libcarmina_arrow.so gives: the cells of a Parquet or Arrow IPC file, some rows at a time, so
 * that no program links Arrow. Functions that fail write one line to `error` (error_size bytes). */
#ifndef CARMINA_ARROW_FILES_H
#define CARMINA_ARROW_FILES_H

#include <stddef.h>
#include <stdint.h>

#define CARMINA_ARROW_VERSION 1

typedef struct carmina_arrow_file carmina_arrow_file;

enum carmina_arrow_kind {
  carmina_arrow_number, /* integers and floats */
  carmina_arrow_truth,  /* read as the texts false and true */
  carmina_arrow_text,   /* perhaps of a dictionary */
  carmina_arrow_date,   /* dates and times */
  carmina_arrow_other
};

typedef struct carmina_arrow_api {
  carmina_arrow_file* (*open)(const char* path, int parquet, char* error, size_t error_size); /* NULL: failed */
  void (*close)(carmina_arrow_file*);
  int64_t (*rows)(const carmina_arrow_file*);
  int (*columns)(const carmina_arrow_file*);
  const char* (*name)(const carmina_arrow_file*, int column);
  const char* (*type)(const carmina_arrow_file*, int column); /* as Arrow calls it */
  enum carmina_arrow_kind (*kind)(const carmina_arrow_file*, int column);

  /* To the first row; from now on the columns with wanted[column] != 0 are read. 0, or -1: failed. */
  int (*rewind)(carmina_arrow_file*, const char* wanted, char* error, size_t error_size);
  /* The next rows, at most `most`: how many are at hand now, 0 at the end, -1: failed. */
  int64_t (*next)(carmina_arrow_file*, int64_t most, char* error, size_t error_size);

  /* Of the rows at hand. Numbers to out[row * stride], NaN where a cell is missing. */
  void (*numbers)(const carmina_arrow_file*, int column, double* out, int64_t stride);
  /* NULL where a cell is missing; not ended by a zero. */
  const char* (*text)(const carmina_arrow_file*, int column, int64_t row, size_t* length);
  /* Since 1970-01-01, UTC; the fraction is of a second, from 0. 0 where a cell is missing, else 1. */
  int (*instant)(const carmina_arrow_file*, int column, int64_t row, int64_t* seconds, double* fraction);
} carmina_arrow_api;

#ifdef __cplusplus
extern "C"
#endif
    __attribute__((visibility("default"))) const carmina_arrow_api*
    carmina_arrow(int version); /* NULL: of another version */

#endif
