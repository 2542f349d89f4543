/// LNH_SUBJECT: whose code this program tests. Every verdict names it, so that nobody mistakes the reference's result
/// for their own. CMake sets it for exercises ("YOUR CODE") and solutions ("REFERENCE").
#pragma once

#ifndef LNH_SUBJECT
#define LNH_SUBJECT "COURSE"
#endif
