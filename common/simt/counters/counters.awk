# awk -f counters.awk EXECUTOR_CSV GPU_CSV NOTES
#
# The table of counters.md: what the executor counts beside what a GPU's counters say, kernel by kernel.
#
#   EXECUTOR_CSV  what counter_kernels prints on simt
#   GPU_CSV       ncu.csv of compare.sh: lines with # say where it comes from, then a line for each launch and metric
#   NOTES         Markdown that explains the differences; it goes between the table and the last line
#
# Launches are matched by their order, and their names must agree. Exit code: 0 the table is made, 1 the files do not fit.
function number(text) {
  gsub(/[",]/, "", text)
  return text + 0
}
function with_commas(value, text) {
  text = sprintf("%.0f", value)
  while (match(text, /^[0-9]+[0-9][0-9][0-9]/)) text = substr(text, 1, RLENGTH - 3) "," substr(text, RLENGTH - 2)
  return text
}
# copy::scalar_kernel of "void copy::scalar_kernel(CopyArgs)". Many chapters have a layer_norm_kernel, so the table shows the namespace.
function label_of(name) {
  gsub(/\(anonymous namespace\)::|"/, "", name)
  sub(/[<(].*/, "", name)
  sub(/.* /, "", name)
  return name
}
# The profiler names no namespace: copy::scalar_kernel and scalar_kernel are the same kernel.
function base_name(name) {
  name = label_of(name)
  sub(/.*:/, "", name)
  return name
}
function give_up(sentence) {
  print "counters.awk: " sentence > "/dev/stderr"
  failed = 1
  exit 1
}
function gpu_count(launch, metric) {
  if (!((launch, metric) in gpu)) give_up("the GPU's file has no " metric " for " kernel[launch] "; run compare.sh again.")
  return gpu[launch, metric]
}

BEGIN {
  launches = agree = 0
  FS = "\",\""
  split("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum " \
        "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum " \
        "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
        metrics, " ")
}
FNR == 1 { ++file }
file == 1 && FNR > 1 {
  kernel[launches] = base_name($1)
  label[launches] = label_of($1)
  for (i = 1; i <= 6; ++i) executor[launches, i] = number($(i + 1))
  ++launches
}
file == 2 && /^# / { origin = origin substr($0, 3) "\n" }
file == 2 && /^"[0-9]/ {
  launch = number($1)
  if (base_name($2) != kernel[launch])
    give_up("launch " launch " is " base_name($2) " on the GPU and " kernel[launch] " under the executor; build both from the same source.")
  gpu[launch, $3] = number($5)
}
file == 3 { notes = notes $0 "\n" }

END {
  if (failed) exit 1
  if (launches == 0) give_up("the executor's file has no kernel; make it with counter_kernels on simt.")
  print "# The executor's counts beside a GPU's counters\n"
  print "Each cell: executor / GPU. A cell in bold differs.\n"
  print origin
  print "| kernel | load requests | load sectors | store requests | store sectors | requests and sectors agree " \
        "| shared load wavefronts | shared store wavefronts |"
  print "|---|--:|--:|--:|--:|---|--:|--:|"
  for (k = 0; k < launches; ++k) {
    same = 1
    for (i = 1; i <= 6; ++i) {
      on_gpu = gpu_count(k, metrics[i])
      cell[i] = with_commas(executor[k, i]) " / " with_commas(on_gpu)
      if (executor[k, i] != on_gpu) {
        cell[i] = "**" cell[i] "**"
        if (i <= 4) same = 0
      }
    }
    agree += same
    printf "| %s | %s | %s | %s | %s | %s | %s | %s |\n", label[k], cell[1], cell[2], cell[3], cell[4],
           same ? "yes" : "no", cell[5], cell[6]
  }
  print "\nWhat the executor does not count: how much of the loads the caches spared the memory.\n"
  print "| kernel | sectors loaded | sectors read from L2 | bytes read from memory |"
  print "|---|--:|--:|--:|"
  for (k = 0; k < launches; ++k)
    printf "| %s | %s | %s | %s |\n", label[k], with_commas(executor[k, 2]),
           with_commas(gpu_count(k, "lts__t_sectors_op_read.sum")), with_commas(gpu_count(k, "dram__bytes_read.sum"))
  printf "\n%s\n%d of %d kernels agree exactly in requests and sectors.\n", notes, agree, launches
}
