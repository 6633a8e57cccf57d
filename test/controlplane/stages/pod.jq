def tag($word): any(.spec.containers[].image; test(":[^/]*" + $word));
def alive: .metadata.deletionTimestamp == null;
def running: alive and .status.phase == "Running";
def job: any(.metadata.ownerReferences[]?; .kind == "Job");
def observed:
  [.spec.containers[] | [.name, .image]] == [.status.containerStatuses[]? | [.name, .image]];
def is($type): any(.status.conditions[]?; .type == $type and .status == "True");
def gated: (.spec.readinessGates // []) != [];
def open:
  . as $pod | all(.spec.readinessGates[]?; .conditionType as $gate | $pod | is($gate));
