//===- Ucx.c - Messages over UCX ----------------------------------*- C -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For jobs without MPI: InfiniBand, TCP and shared memory by one library, which
// tells of peers that are gone. Messages are tagged sends of UCP; a tag is the
// sender's rank above the message's own.
//
//===----------------------------------------------------------------------===//

#include "Environment.h"
#include "Room.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucp/api/ucp.h>

/// The other end of messages.
struct peer {
  void *address;
  ucp_ep_h endpoint;
  /// What ended it.
  ucs_status_t status;
};

struct ucx {
  ucp_context_h context;
  ucp_worker_h worker;
  ucp_address_t *own;
  struct peer *peers;
  struct cp_environment job;
  char error[512];
};

struct request {
  /// Of UCP; null once it is gone.
  void *handle;
  int64_t peer, bytes;
  int isDone, isAbandoned;
  ucs_status_t status;
};

static void say(struct ucx *ucx, const char *format, ...) {
  va_list list;
  va_start(list, format);
  vsnprintf(ucx->error, sizeof ucx->error, format, list);
  va_end(list);
}

static cprt_status failed(struct ucx *ucx, const char *what,
                          ucs_status_t status) {
  say(ucx, "%s: %s", what, ucs_status_string(status));
  return status == UCS_ERR_NO_MEMORY ? CPRT_OUT_OF_MEMORY : CPRT_PEER_FAILED;
}

//===----------------------------------------------------------------------===//
// Endpoints
//===----------------------------------------------------------------------===//

static void onPeerError(void *argument, ucp_ep_h endpoint,
                        ucs_status_t status) {
  (void)endpoint;
  ((struct peer *)argument)->status = status;
}

/// Made with the first message.
static ucs_status_t connectTo(struct ucx *ucx, struct peer *peer) {
  ucp_ep_params_t params;
  memset(&params, 0, sizeof params);
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS |
                      UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER;
  params.address = peer->address;
  params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  params.err_handler.cb = onPeerError;
  params.err_handler.arg = peer;
  return ucp_ep_create(ucx->worker, &params, &peer->endpoint);
}

/// By one that tells of peers that are gone: of those that do not, shared
/// memory may reach another container of the machine in one direction only.
static cprt_status unreachable(struct ucx *ucx, int64_t rank,
                               ucs_status_t status) {
  say(ucx,
      "rank %lld cannot be reached by a transport that tells of peers that are "
      "gone: %s; look at its network, and at UCX_TLS and UCX_NET_DEVICES",
      (long long)rank, ucs_status_string(status));
  return CPRT_UNSUPPORTED;
}

static cprt_status giveAddress(void *state, const void **data, size_t *bytes) {
  struct ucx *ucx = state;
  ucs_status_t status = ucp_worker_get_address(ucx->worker, &ucx->own, bytes);
  if (status != UCS_OK)
    return failed(ucx, "ucp_worker_get_address", status);
  *data = ucx->own;
  return CPRT_OK;
}

static cprt_status takeAddresses(void *state, const void *const *addresses,
                                 const size_t *bytes) {
  struct ucx *ucx = state;
  for (int64_t rank = 0; rank < ucx->job.size; ++rank) {
    struct peer *peer = &ucx->peers[rank];
    if (rank == ucx->job.rank)
      continue;
    peer->address = malloc(bytes[rank]);
    if (!peer->address) {
      say(ucx, "no memory for the address of a rank");
      return CPRT_OUT_OF_MEMORY;
    }
    memcpy(peer->address, addresses[rank], bytes[rank]);
  }
  return CPRT_OK;
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

static void finish(struct request *request, void *handle, ucs_status_t status) {
  request->isDone = 1;
  request->status = status;
  // Nobody asks for it any more.
  if (request->isAbandoned) {
    ucp_request_free(handle);
    free(request);
  }
}

static void onSent(void *handle, ucs_status_t status, void *argument) {
  finish(argument, handle, status);
}

static void onReceived(void *handle, ucs_status_t status,
                       const ucp_tag_recv_info_t *info, void *argument) {
  struct request *request = argument;
  if (status == UCS_OK && info->length != (size_t)request->bytes)
    status = UCS_ERR_MESSAGE_TRUNCATED;
  finish(request, handle, status);
}

static ucp_tag_t tagOf(int64_t sender, int32_t tag) {
  return (ucp_tag_t)sender << 16 | (ucp_tag_t)tag;
}

static cprt_status start(struct ucx *ucx, const cprt_message *message,
                         struct request *request) {
  struct peer *peer = &ucx->peers[message->peer];
  ucp_request_param_t params;
  memset(&params, 0, sizeof params);
  params.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
                        UCP_OP_ATTR_FIELD_USER_DATA |
                        UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
  params.user_data = request;
  if (message->is_receive) {
    params.cb.recv = onReceived;
    request->handle = ucp_tag_recv_nbx(
        ucx->worker, message->data, (size_t)message->bytes,
        tagOf(message->peer, message->tag), ~(ucp_tag_t)0, &params);
  } else {
    if (peer->status != UCS_OK)
      return failed(ucx, "a peer", peer->status);
    ucs_status_t status = peer->endpoint ? UCS_OK : connectTo(ucx, peer);
    if (status != UCS_OK)
      return unreachable(ucx, message->peer, status);
    params.cb.send = onSent;
    request->handle =
        ucp_tag_send_nbx(peer->endpoint, message->data, (size_t)message->bytes,
                         tagOf(ucx->job.rank, message->tag), &params);
  }
  if (UCS_PTR_IS_ERR(request->handle)) {
    ucs_status_t status = UCS_PTR_STATUS(request->handle);
    request->handle = NULL;
    return failed(ucx,
                  message->is_receive ? "ucp_tag_recv_nbx" : "ucp_tag_send_nbx",
                  status);
  }
  return CPRT_OK;
}

static cprt_status post(void *state, const cprt_message *messages,
                        int64_t count, void **requests) {
  struct ucx *ucx = state;
  for (int64_t i = 0; i < count; ++i) {
    struct request *request = calloc(1, sizeof *request);
    if (!request) {
      say(ucx, "no memory for a message");
      return CPRT_OUT_OF_MEMORY;
    }
    request->peer = messages[i].peer;
    request->bytes = messages[i].bytes;
    cprt_status status = start(ucx, &messages[i], request);
    if (status != CPRT_OK) {
      free(request);
      return status;
    }
    requests[i] = request;
  }
  return CPRT_OK;
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/// What has been sent reaches its peer, unless one has failed.
static void closeEndpoints(struct ucx *ucx, int force) {
  double most = now() + 1;
  for (int64_t rank = 0; rank < ucx->job.size; ++rank) {
    struct peer *peer = &ucx->peers[rank];
    if (peer->endpoint) {
      ucp_request_param_t params;
      memset(&params, 0, sizeof params);
      params.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
      params.flags =
          force || peer->status != UCS_OK ? UCP_EP_CLOSE_FLAG_FORCE : 0;
      void *closing = ucp_ep_close_nbx(peer->endpoint, &params);
      if (UCS_PTR_IS_PTR(closing)) {
        while (ucp_request_check_status(closing) == UCS_INPROGRESS &&
               now() < most)
          ucp_worker_progress(ucx->worker);
        ucp_request_free(closing);
      }
      peer->endpoint = NULL;
      // It is not made again.
      if (peer->status == UCS_OK)
        peer->status = UCS_ERR_CANCELED;
    }
  }
}

/// Of all peers, so that nothing is read of what is being sent, and nothing
/// written: what is under way ends with its endpoint.
static void cancel(void *state, void *handle) {
  struct ucx *ucx = state;
  struct request *request = handle;
  closeEndpoints(ucx, 1);
  if (!request->isDone)
    ucp_request_cancel(ucx->worker, request->handle);
  for (int i = 0; i < 1000 && !request->isDone; ++i)
    ucp_worker_progress(ucx->worker);
  if (request->isDone) {
    ucp_request_free(request->handle);
    free(request);
  } else {
    request->isAbandoned = 1;
  }
}

static void progress(void *state) {
  struct ucx *ucx = state;
  ucp_worker_progress(ucx->worker);
}

static cprt_status test(void *state, void **handle, int32_t *done) {
  struct ucx *ucx = state;
  struct request *request = *handle;
  if (!request->isDone)
    ucp_worker_progress(ucx->worker);
  *done = request->isDone;
  if (!request->isDone) {
    // What is to come of a peer that is gone would stay so.
    ucs_status_t status = ucx->peers[request->peer].status;
    if (status == UCS_OK)
      return CPRT_OK;
    cancel(ucx, request);
    *handle = NULL;
    return failed(ucx, "a peer", status);
  }
  ucs_status_t status = request->status;
  int64_t bytes = request->bytes;
  ucp_request_free(request->handle);
  free(request);
  *handle = NULL;
  if (status == UCS_ERR_MESSAGE_TRUNCATED) {
    say(ucx, "a message has other bytes than the %lld expected",
        (long long)bytes);
    return CPRT_MISMATCH;
  }
  return status == UCS_OK ? CPRT_OK : failed(ucx, "a message", status);
}

static const char *errorText(void *state) {
  return ((struct ucx *)state)->error;
}

//===----------------------------------------------------------------------===//
// Beginning and end
//===----------------------------------------------------------------------===//

/// What came for calls that are not made any more; UCX would warn of each.
static void discardUnexpected(struct ucx *ucx) {
  ucp_tag_recv_info_t info;
  ucp_tag_message_h message;
  while ((message = ucp_tag_probe_nb(ucx->worker, 0, 0, 1, &info)) != NULL) {
    void *memory = malloc(info.length ? info.length : 1);
    ucp_request_param_t params;
    memset(&params, 0, sizeof params);
    void *handle = memory ? ucp_tag_msg_recv_nbx(ucx->worker, memory,
                                                 info.length, message, &params)
                          : NULL;
    double most = now() + 0.1;
    while (UCS_PTR_IS_PTR(handle) &&
           ucp_request_check_status(handle) == UCS_INPROGRESS && now() < most)
      ucp_worker_progress(ucx->worker);
    if (UCS_PTR_IS_PTR(handle)) {
      // What a rank that is gone would still have to send.
      if (ucp_request_check_status(handle) == UCS_INPROGRESS)
        return;
      ucp_request_free(handle);
    }
    free(memory);
  }
}

static void destroy(void *state, int32_t failed) {
  struct ucx *ucx = state;
  closeEndpoints(ucx, failed);
  if (failed)
    discardUnexpected(ucx);
  if (ucx->own)
    ucp_worker_release_address(ucx->worker, ucx->own);
  ucp_worker_destroy(ucx->worker);
  ucp_cleanup(ucx->context);
  for (int64_t rank = 0; rank < ucx->job.size; ++rank)
    free(ucx->peers[rank].address);
  free(ucx->peers);
  free(ucx);
}

/// In UCX's own parts of 8 KiB, TCP moves 1 MiB in four times as long. UCX has
/// no one name for these sizes in all its versions but that in the environment;
/// it takes no part that is larger sent than received.
static const char *const tcpSizes[] = {"UCX_TCP_RX_SEG_SIZE",
                                       "UCX_TCP_TX_SEG_SIZE"};

static ucs_status_t initialize(struct ucx *ucx) {
  ucp_params_t params;
  memset(&params, 0, sizeof params);
  params.field_mask = UCP_PARAM_FIELD_FEATURES;
  params.features = UCP_FEATURE_TAG;
  return ucp_init(&params, NULL, &ucx->context);
}

static ucs_status_t createWorker(struct ucx *ucx) {
  // Of ranks that are threads of one process.
  static pthread_mutex_t environment = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&environment);
  // Of a user's sizes, one may not go with ours for the other.
  int given = getenv(tcpSizes[0]) || getenv(tcpSizes[1]);
  for (int i = 0; i < 2 && !given; ++i)
    setenv(tcpSizes[i], "512k", 0);
  ucp_worker_params_t params;
  memset(&params, 0, sizeof params);
  params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  params.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  ucs_status_t status = ucp_worker_create(ucx->context, &params, &ucx->worker);
  for (int i = 0; i < 2 && !given; ++i)
    unsetenv(tcpSizes[i]);
  pthread_mutex_unlock(&environment);
  return status;
}

static cprt_status makeWorker(struct ucx *ucx) {
  ucs_status_t status = initialize(ucx);
  if (status != UCS_OK) {
    failed(ucx, "ucp_init", status);
    return CPRT_UNSUPPORTED;
  }
  status = createWorker(ucx);
  if (status != UCS_OK) {
    ucp_cleanup(ucx->context);
    failed(ucx, "ucp_worker_create", status);
    return CPRT_UNSUPPORTED;
  }
  return CPRT_OK;
}

static cprt_status open(struct ucx *ucx, cprt_transport *transport,
                        cprt_job *job) {
  int32_t listener = 0;
  if (transport->size > 0) {
    if (cp_take_place(transport, job, &ucx->job, ucx->error, sizeof ucx->error))
      return CPRT_INVALID_ARGUMENT;
    listener = job->listener;
  } else if (cp_read_environment(&ucx->job, ucx->error, sizeof ucx->error)) {
    return CPRT_INVALID_ARGUMENT;
  }
  ucx->peers = calloc((size_t)ucx->job.size, sizeof *ucx->peers);
  if (!ucx->peers)
    return CPRT_OUT_OF_MEMORY;
  cprt_status status = makeWorker(ucx);
  if (status != CPRT_OK)
    return status;
  memset(job, 0, sizeof *job);
  job->struct_size = sizeof *job;
  job->rank = ucx->job.rank;
  job->address = ucx->job.address;
  job->token = ucx->job.token;
  job->local_ranks = ucx->job.local_size;
  job->local_rank = ucx->job.local_rank;
  job->listener = listener;
  memset(transport, 0, sizeof *transport);
  transport->struct_size = sizeof *transport;
  transport->state = ucx;
  transport->name = "ucx";
  transport->rank = ucx->job.rank;
  transport->size = ucx->job.size;
  transport->post = post;
  transport->test = test;
  transport->cancel = cancel;
  transport->error = errorText;
  transport->destroy = destroy;
  transport->address = giveAddress;
  transport->connect = takeAddresses;
  transport->progress = progress;
  return CPRT_OK;
}

cprt_status cprt_transport_open(cprt_transport *transport, cprt_job *job,
                                char *message, size_t capacity) {
  if (!cp_have_room(transport, job, message, capacity))
    return CPRT_INVALID_ARGUMENT;
  struct ucx *ucx = calloc(1, sizeof *ucx);
  cprt_status status = ucx ? open(ucx, transport, job) : CPRT_OUT_OF_MEMORY;
  if (message && capacity)
    snprintf(message, capacity, "%s",
             ucx && *ucx->error ? ucx->error : "out of memory");
  if (status != CPRT_OK && ucx) {
    free(ucx->peers);
    free(ucx);
  }
  return status;
}
