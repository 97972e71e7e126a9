// expect: nothing, this file is correct: the harness must report that it compiles
int main() { return 0; }
