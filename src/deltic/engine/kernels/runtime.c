/* What the machine code of kernels calls: memory with counted references, numpy's arrays, and exceptions.

   Numba lowers a kernel to calls of these functions, by these names. Its own runtime has them, too; this one lets kernels
   run where numba is not installed. It needs no header of Python or numpy: every function of Python is one of the stable
   interface, and the layouts of arrays are those that numpy 2 promises. */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct Object {
    intptr_t references;
    struct Object *type;
} Object;

extern Object *PyExc_RuntimeError;
extern Object *PyBytes_FromStringAndSize(const char *, intptr_t);
extern Object *PyCapsule_New(void *, const char *, void (*)(Object *));
extern void *PyCapsule_GetPointer(Object *, const char *);
extern void PyErr_SetNone(Object *);
extern void PyErr_SetObject(Object *, Object *);
extern void PyErr_SetString(Object *, const char *);
extern int PyGILState_Ensure(void);
extern void PyGILState_Release(int);
extern Object *PyImport_ImportModule(const char *);
extern Object *PyObject_CallFunctionObjArgs(Object *, ...);
extern Object *PyObject_CallObject(Object *, Object *);
extern Object *PyObject_GetAttrString(Object *, const char *);
extern Object *PyTuple_GetItem(Object *, intptr_t);
extern int PyType_IsSubtype(Object *, Object *);
extern void Py_IncRef(Object *);
extern void Py_DecRef(Object *);
extern Object _Py_NoneStruct;

/* Memory: the first five fields are those that compiled code reads. */

typedef void Destructor(void *data, size_t size, void *information);

typedef struct {
    size_t references;
    Destructor *destructor;
    void *information;
    void *data;
    size_t size;
} Memory;

void *NRT_Allocate(size_t size) { return malloc(size); }

void NRT_Free(void *data) { free(data); }

static Memory *remember(Memory *memory, void *data, size_t size, Destructor *destructor, void *information) {
    if (memory != NULL) {
        memory->references = 1;
        memory->destructor = destructor;
        memory->information = information;
        memory->data = data;
        memory->size = size;
    }
    return memory;
}

Memory *NRT_MemInfo_alloc_aligned(size_t size, unsigned alignment) {
    Memory *memory = malloc(sizeof(Memory) + size + alignment);
    uintptr_t after = (uintptr_t)(memory + 1);
    return remember(memory, (void *)((after + alignment - 1) / alignment * alignment), size, NULL, NULL);
}

Memory *NRT_MemInfo_alloc(size_t size) { return NRT_MemInfo_alloc_aligned(size, sizeof(void *)); }

void NRT_MemInfo_call_dtor(Memory *memory) {
    if (memory->destructor != NULL)
        memory->destructor(memory->data, memory->size, memory->information);
    free(memory);
}

static void free_elements(void *data, size_t size, void *information) {
    (void)size;
    if (information != NULL)
        ((void (*)(void *))information)(data);
    free(data);
}

/* The memory of a list, which grows; `destructor` is called with it before it is freed. */
Memory *NRT_MemInfo_new_varsize_dtor(size_t size, void *destructor) {
    void *data = malloc(size);
    Memory *memory = data == NULL ? NULL : malloc(sizeof(Memory));
    if (memory == NULL)
        free(data);
    return remember(memory, data, size, free_elements, destructor);
}

void *NRT_MemInfo_varsize_realloc(Memory *memory, size_t size) {
    void *data = realloc(memory->data, size);
    if (data != NULL) {
        memory->data = data;
        memory->size = size;
    }
    return data;
}

/* Arrays. The functions of numpy's C interface stand in a table, whose places never change. */

enum { ARRAY_TYPE = 2, NEW_FROM_DESCRIPTION = 94, SET_BASE_OBJECT = 282, WRITEABLE = 0x400 };

void **deltic_numpy;

typedef struct {
    Object head;
    Object *element;
    char kind, type, order, former_flags;
    int number;
    uint64_t flags;
    intptr_t itemsize;
} Description;

typedef struct {
    Object head;
    char *data;
    int dimensions;
    intptr_t *shape, *strides;
    Object *base;
    Description *description;
    int flags;
} Array;

typedef struct {
    Memory *memory;
    Object *parent;
    intptr_t count, itemsize;
    void *data;
    intptr_t shape_and_strides[];
} Unboxed;

static void let_go(void *data, size_t size, void *owner) {
    int state = PyGILState_Ensure();
    (void)data, (void)size;
    Py_DecRef(owner);
    PyGILState_Release(state);
}

int NRT_adapt_ndarray_from_python(Object *object, Unboxed *unboxed) {
    Object *type = deltic_numpy[ARRAY_TYPE];
    Array *array = (Array *)object;
    if (object->type != type && !PyType_IsSubtype(object->type, type))
        return -1;
    unboxed->memory = remember(malloc(sizeof(Memory)), array->data, 0, let_go, object);
    if (unboxed->memory == NULL)
        return -1;
    Py_IncRef(object);
    unboxed->parent = object;
    unboxed->count = 1;
    unboxed->itemsize = array->description->itemsize;
    unboxed->data = array->data;
    for (int i = 0; i < array->dimensions; i++) {
        unboxed->count *= array->shape[i];
        unboxed->shape_and_strides[i] = array->shape[i];
        unboxed->shape_and_strides[array->dimensions + i] = array->strides[i];
    }
    return 0;
}

/* Whether an array whose elements follow each other can have another shape; its strides then. Kernels reshape no other. */
int numba_attempt_nocopy_reshape(
    intptr_t dimensions, const intptr_t *shape, const intptr_t *strides, intptr_t new_dimensions,
    const intptr_t *new_shape, intptr_t *new_strides, intptr_t itemsize, int fortran) {
    intptr_t size = itemsize, new_size = itemsize;
    for (intptr_t i = dimensions - 1; i >= 0; i--) {
        if (shape[i] != 1 && strides[i] != size)
            return 0;
        size *= shape[i];
    }
    for (intptr_t i = new_dimensions - 1; i >= 0; i--) {
        new_strides[i] = new_size;
        new_size *= new_shape[i];
    }
    return size == new_size && !fortran;
}

static int is_same(const Unboxed *unboxed, const Array *array, int dimensions, const Description *description) {
    size_t size = dimensions * sizeof(intptr_t);
    return array->data == unboxed->data && array->dimensions == dimensions && array->description == description
        && memcmp(array->shape, unboxed->shape_and_strides, size) == 0
        && memcmp(array->strides, unboxed->shape_and_strides + dimensions, size) == 0;
}

static void release(Object *capsule) {
    Memory *memory = PyCapsule_GetPointer(capsule, NULL);
    if (__atomic_sub_fetch(&memory->references, 1, __ATOMIC_ACQ_REL) == 0)
        NRT_MemInfo_call_dtor(memory);
}

Object *NRT_adapt_ndarray_to_python_acqref(
    Unboxed *unboxed, Object *type, int dimensions, int writeable, Description *description) {
    Object *(*new_array)(Object *, Description *, int, intptr_t *, intptr_t *, void *, int, Object *) =
        (Object * (*)(Object *, Description *, int, intptr_t *, intptr_t *, void *, int, Object *))
            deltic_numpy[NEW_FROM_DESCRIPTION];
    int (*set_base)(Object *, Object *) = (int (*)(Object *, Object *))deltic_numpy[SET_BASE_OBJECT];
    intptr_t *shape = unboxed->shape_and_strides;
    Object *array, *capsule;

    if (unboxed->parent != NULL && is_same(unboxed, (Array *)unboxed->parent, dimensions, description)) {
        Py_IncRef(unboxed->parent);
        return unboxed->parent;
    }
    Py_IncRef(&description->head); /* numpy takes it over */
    array = new_array(
        type, description, dimensions, shape, shape + dimensions, unboxed->data, writeable ? WRITEABLE : 0, NULL);
    if (array == NULL || unboxed->memory == NULL)
        return array;
    capsule = PyCapsule_New(unboxed->memory, NULL, release);
    if (capsule != NULL) {
        __atomic_add_fetch(&unboxed->memory->references, 1, __ATOMIC_RELAXED);
        if (set_base(array, capsule) == 0) /* which takes the capsule over, in any case */
            return array;
    }
    Py_DecRef(array);
    return NULL;
}

/* Exceptions, and classes of arrays: machine code holds them pickled. */

static Object *unpickled(const char *data, int size) {
    Object *module = PyImport_ImportModule("pickle");
    Object *loads = module == NULL ? NULL : PyObject_GetAttrString(module, "loads");
    Object *pickled = loads == NULL ? NULL : PyBytes_FromStringAndSize(data, size);
    Object *result = pickled == NULL ? NULL : PyObject_CallFunctionObjArgs(loads, pickled, NULL);
    Py_DecRef(pickled);
    Py_DecRef(loads);
    Py_DecRef(module);
    return result;
}

enum { REMEMBERED = 256 };

/* Every call of a kernel that makes an array asks for its class: what was unpickled is remembered by its address. */
Object *numba_unpickle(const char *data, int size, const char *digest) {
    static struct {
        const char *data;
        Object *result;
    } remembered[REMEMBERED];
    unsigned place = (uintptr_t)data / 8 % REMEMBERED;
    (void)digest;
    if (remembered[place].data != data) {
        Object *result = unpickled(data, size);
        if (result == NULL)
            return NULL;
        Py_DecRef(remembered[place].result);
        remembered[place].data = data;
        remembered[place].result = result;
    }
    Py_IncRef(remembered[place].result);
    return remembered[place].result;
}

Object *numba_runtime_build_excinfo_struct(Object *pickled, Object *arguments) {
    (void)pickled, (void)arguments;
    PyErr_SetString(PyExc_RuntimeError, "a kernel raises an exception whose text is computed");
    return NULL;
}

/* Raise a tuple of a class, its arguments and a place in the source, and take it over. */
int numba_do_raise(Object *packed) {
    Object *type = PyTuple_GetItem(packed, 0), *arguments = PyTuple_GetItem(packed, 1);
    if (type != NULL && arguments == &_Py_NoneStruct) {
        PyErr_SetNone(type);
    } else if (type != NULL && arguments != NULL) {
        Object *value = PyObject_CallObject(type, arguments);
        if (value != NULL)
            PyErr_SetObject(type, value);
        Py_DecRef(value);
    }
    Py_DecRef(packed);
    return 0;
}
