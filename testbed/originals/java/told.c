// The clock, the sleep and the wait of a JVM, for the one thread that plays a script. JNI's RegisterNatives may bind the
// native methods of the platform's own classes to other functions, so the originals' classes stay as they are.

#include <jni.h>

// The functions that the JVM itself binds them to.
extern jlong JVM_CurrentTimeMillis(JNIEnv *, jclass);
extern void JVM_Sleep(JNIEnv *, jclass, jlong);
extern void JVM_MonitorWait(JNIEnv *, jobject, jlong);

// After this many looks at the clock in one call, the original waits for it in a loop. Then the clock advances by a
// millisecond with each look.
enum { PATIENCE = 4 };

static __thread int plays;
static jlong wall, during;
static int looks;

static void waits(jlong millis) {
    wall += during + millis;
    during = 0;
}

static jlong current_time_millis(JNIEnv *env, jclass class) {
    if (!plays) return JVM_CurrentTimeMillis(env, class);
    if (++looks > PATIENCE) waits(1);
    return wall;
}

static void thread_sleep(JNIEnv *env, jclass class, jlong millis) {
    if (!plays) {
        JVM_Sleep(env, class, millis);
        return;
    }
    looks = 0;
    waits(millis);
}

static void object_wait(JNIEnv *env, jobject object, jlong millis) {
    if (!plays) {
        JVM_MonitorWait(env, object, millis);
        return;
    }
    looks = 0;
    waits(millis);
}

// The name, which differs in a later Java, and its function. 0 if the class has no such native method.
static int bind(JNIEnv *env, const char *class_name, const char *name, const char *later, const char *signature, void *function) {
    jclass class = (*env)->FindClass(env, class_name);
    if (!class) return 0;
    const char *names[] = {later, name};
    for (int i = 0; i < 2; i++) {
        JNINativeMethod method = {(char *)names[i], (char *)signature, function};
        if (names[i] && (*env)->RegisterNatives(env, class, &method, 1) == 0) return 1;
        (*env)->ExceptionClear(env);
    }
    return 0;
}

// Begins to set this thread's time. False if this Java keeps its clocks elsewhere.
JNIEXPORT jboolean JNICALL Java_Play_tell(JNIEnv *env, jclass class) {
    plays = 1;
    return bind(env, "java/lang/System", "currentTimeMillis", NULL, "()J", current_time_millis) &&
           bind(env, "java/lang/Thread", "sleep", "sleep0", "(J)V", thread_sleep) &&
           bind(env, "java/lang/Object", "wait", "wait0", "(J)V", object_wait);
}

JNIEXPORT void JNICALL Java_Play_set(JNIEnv *env, jclass class, jlong millis) { wall = millis; }

// The rest of what was set before.
JNIEXPORT jlong JNICALL Java_Play_during(JNIEnv *env, jclass class, jlong millis) {
    jlong before = during;
    during = millis;
    return before;
}

JNIEXPORT jlong JNICALL Java_Play_wall(JNIEnv *env, jclass class) { return wall; }

// Begins a call of the original.
JNIEXPORT void JNICALL Java_Play_call(JNIEnv *env, jclass class) { looks = 0; }
